import type { z } from "zod";
import type { FoundItems } from "../../../agent-server/store/schema.ts";

export type FoundItemsPage = z.infer<typeof FoundItems>;
export type StoreItem = FoundItemsPage["items"][number];

/** The namespace and the key; labels have no dots. */
export function idOf({ namespace, key }: Pick<StoreItem, "namespace" | "key">): string {
  return `${namespace.join(".")}/${key}`;
}

/** The namespace and the key of an id, as the API's parameters. */
export function placeOf(id: string): { namespace: string; key: string } {
  const at = id.indexOf("/");
  return { namespace: id.slice(0, at), key: id.slice(at + 1) };
}
