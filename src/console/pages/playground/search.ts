import { choiceParam, flagParam, idParam, type RawSearch, textParam } from "../../state/search.ts";

export type PlaygroundSearch = {
  deployment?: string | undefined;
  /** Id of a revision, absent for the serving ones. */
  revision?: string | undefined;
  assistant?: string | undefined;
  thread?: string | undefined;
  tab?: "state" | "code" | undefined;
  /** Whether subgraphs are drawn. */
  xray?: true | undefined;
};

export function playgroundSearch(search: RawSearch): PlaygroundSearch {
  return {
    deployment: idParam(search, "deployment"),
    revision: idParam(search, "revision"),
    assistant: textParam(search, "assistant"),
    thread: idParam(search, "thread"),
    tab: choiceParam(search, "tab", ["state", "code"]),
    xray: flagParam(search, "xray"),
  };
}
