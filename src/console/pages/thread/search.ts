import { choiceParam, type RawSearch, textParam } from "../../state/search.ts";

export type ThreadPageSearch = {
  /** Id of a checkpoint; none for now. */
  cp?: string | undefined;
  tab?: "details" | undefined;
};

export function threadSearch(search: RawSearch): ThreadPageSearch {
  return {
    cp: textParam(search, "cp"),
    tab: choiceParam(search, "tab", ["details"]),
  };
}
