import { idParam, numberParam, type RawSearch, textParam } from "../../state/search.ts";

export type StoreSearch = {
  deployment?: string | undefined;
  /** Labels of a namespace, joined with dots, which labels cannot contain. */
  ns?: string | undefined;
  /** Namespace and key of the shown item, as `idOf` joins them. The name stays: addresses have it. */
  key?: string | undefined;
  q?: string | undefined;
  offset?: number | undefined;
};

export function storeSearch(search: RawSearch): StoreSearch {
  return {
    deployment: idParam(search, "deployment"),
    ns: textParam(search, "ns"),
    key: textParam(search, "key"),
    q: textParam(search, "q"),
    offset: numberParam(search, "offset"),
  };
}

export function toLabels(ns: string | undefined): string[] {
  return ns === undefined || ns === "" ? [] : ns.split(".");
}
