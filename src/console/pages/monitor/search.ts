import { choiceParam, idParam, type RawSearch, textParam, timeParam } from "../../state/search.ts";
import { RANGE_NAMES, type RangeName } from "../../traces/range-names.ts";

const GROUPS = ["name", "revision", "tag", "metadata"] as const;
export type GroupName = (typeof GROUPS)[number];

export type MonitorSearch = {
  project?: string | undefined;
  range?: RangeName | undefined;
  group?: GroupName | undefined;
  /** Key of the metadata to group by. */
  key?: string | undefined;
  runs?: "all" | undefined;
  /** A part of the range that was chosen by a drag in a chart. */
  from?: string | undefined;
  to?: string | undefined;
};

export type TimePart = { from: string; to: string };

export function monitorSearch(search: RawSearch): MonitorSearch {
  return {
    project: idParam(search, "project"),
    range: choiceParam(search, "range", RANGE_NAMES),
    group: choiceParam(search, "group", GROUPS),
    key: textParam(search, "key"),
    runs: choiceParam(search, "runs", ["all"]),
    from: timeParam(search, "from"),
    to: timeParam(search, "to"),
  };
}
