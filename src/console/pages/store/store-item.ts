import type { z } from "zod";
import type { FoundItems } from "../../../agent-server/store/schema.ts";

export type FoundItemsPage = z.infer<typeof FoundItems>;
export type StoreItem = FoundItemsPage["items"][number];

/** Cannot occur in a namespace: its labels are not empty and contain no dots. They may contain slashes. */
const SEPARATOR = "..";

/** Returns the namespace and the key as one text. */
export function idOf({ namespace, key }: Pick<StoreItem, "namespace" | "key">): string {
  return `${namespace.join(".")}${SEPARATOR}${key}`;
}

/** Returns the parameters of the API that identify the item of an id. */
export function paramsOf(id: string): { namespace: string; key: string } {
  const at = id.indexOf(SEPARATOR);
  return { namespace: id.slice(0, at), key: id.slice(at + SEPARATOR.length) };
}
