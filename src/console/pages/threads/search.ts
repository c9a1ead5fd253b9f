import {
  choiceParam,
  idParam,
  numberParam,
  type RawSearch,
  textParam,
} from "../../state/search.ts";

export type ThreadsSearch = {
  deployment?: string | undefined;
  q?: string | undefined;
  status?: "interrupted" | "busy" | "error" | "idle" | undefined;
  /** Counted from 1. */
  page?: number | undefined;
  live?: "off" | undefined;
};

export function threadsSearch(search: RawSearch): ThreadsSearch {
  const page = Math.floor(numberParam(search, "page") ?? 1);
  return {
    deployment: idParam(search, "deployment"),
    q: textParam(search, "q"),
    status: choiceParam(search, "status", ["interrupted", "busy", "error", "idle"]),
    page: page > 1 ? page : undefined,
    live: choiceParam(search, "live", ["off"]),
  };
}
