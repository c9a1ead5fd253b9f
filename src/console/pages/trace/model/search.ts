import {
  choiceParam,
  flagParam,
  numberParam,
  type RawSearch,
  textParam,
} from "../../../state/search.ts";

const TABS = ["metadata", "feedback", "raw"] as const;

export type TraceSearch = {
  /** Id of the chosen span, or `none` after it was closed. Absent: the page chooses one. */
  span?: string | undefined;
  tab?: (typeof TABS)[number] | undefined;
  view?: "errors" | "slow" | undefined;
  find?: string | undefined;
  /** Whether idle gaps are drawn to scale instead of folded. */
  scale?: true | undefined;
  /** The part of the time that is drawn, in ms since the start of the trace. */
  from_ms?: number | undefined;
  to_ms?: number | undefined;
};

export type Zoom = { from: number; to: number };

export function traceSearch(search: RawSearch): TraceSearch {
  return {
    span: textParam(search, "span"),
    tab: choiceParam(search, "tab", TABS),
    view: choiceParam(search, "view", ["errors", "slow"]),
    find: textParam(search, "find"),
    scale: flagParam(search, "scale"),
    from_ms: numberParam(search, "from_ms"),
    to_ms: numberParam(search, "to_ms"),
  };
}
