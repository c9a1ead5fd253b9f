import { numberParam, type RawSearch, textParam } from "../../state/search.ts";

/** A list of one deployment with a chosen item. */
export type CronsSearch = {
  deployment?: string | undefined;
  cron?: string | undefined;
  offset?: number | undefined;
};

export function cronsSearch(search: RawSearch): CronsSearch {
  return {
    deployment: textParam(search, "deployment"),
    cron: textParam(search, "cron"),
    offset: numberParam(search, "offset"),
  };
}
