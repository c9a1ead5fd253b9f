import { choiceParam, flagParam, type RawSearch, textParam } from "../../../state/search.ts";

const TABS = ["metadata", "feedback", "raw"] as const;

export type TraceSearch = {
  /** Id of the chosen span. */
  span?: string | undefined;
  tab?: (typeof TABS)[number] | undefined;
  view?: "errors" | "slow" | undefined;
  find?: string | undefined;
  /** Idle gaps are drawn to scale. */
  scale?: true | undefined;
};

export function traceSearch(search: RawSearch): TraceSearch {
  return {
    span: textParam(search, "span"),
    tab: choiceParam(search, "tab", TABS),
    view: choiceParam(search, "view", ["errors", "slow"]),
    find: textParam(search, "find"),
    scale: flagParam(search, "scale"),
  };
}
