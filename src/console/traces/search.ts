import { choiceParam, idParam, type RawSearch, textParam, timeParam } from "../state/search.ts";
import { RANGE_NAMES, type RangeName } from "./range-names.ts";

export type TracesSearch = {
  /** Id of the project. */
  project?: string | undefined;
  /** A filter of the filter language. */
  q?: string | undefined;
  range?: RangeName | undefined;
  /** Start of a time that is chosen in the histogram or by its bounds, within the range or before it. */
  from?: string | undefined;
  to?: string | undefined;
  /** Runs of each level, not only root runs. */
  runs?: "all" | undefined;
  /** Id of the run that is chosen for a comparison. */
  pick?: string | undefined;
};

export function tracesSearch(search: RawSearch): TracesSearch {
  const [from, to] = [timeParam(search, "from"), timeParam(search, "to")];
  const isRange = from === undefined || to === undefined || Date.parse(from) < Date.parse(to);
  return {
    project: idParam(search, "project"),
    q: textParam(search, "q"),
    range: choiceParam(search, "range", RANGE_NAMES),
    ...(isRange ? { from, to } : {}),
    runs: choiceParam(search, "runs", ["all"]),
    pick: textParam(search, "pick"),
  };
}
