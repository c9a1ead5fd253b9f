import {
  choiceParam,
  numberParam,
  type RawSearch,
  textParam,
  timeParam,
} from "../../state/search.ts";

export type DeploymentSearch = {
  tab?: "settings" | undefined;
  /** Id of the chosen revision. */
  rev?: string | undefined;
  log?: "build" | "server" | undefined;
  find?: string | undefined;
  level?: "INFO" | "WARNING" | "ERROR" | undefined;
  range?: "15m" | "1h" | "24h" | undefined;
  /** ISO time. The server log shows the minutes around it instead of `range`. */
  at?: string | undefined;
  /** Number of a line of the build log. */
  line?: number | undefined;
};

export function deploymentSearch(search: RawSearch): DeploymentSearch {
  return {
    tab: choiceParam(search, "tab", ["settings"]),
    rev: textParam(search, "rev"),
    log: choiceParam(search, "log", ["build", "server"]),
    find: textParam(search, "find"),
    level: choiceParam(search, "level", ["INFO", "WARNING", "ERROR"]),
    range: choiceParam(search, "range", ["15m", "1h", "24h"]),
    at: timeParam(search, "at"),
    line: numberParam(search, "line"),
  };
}
