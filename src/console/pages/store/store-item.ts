import type { z } from "zod";
import type { FoundItems } from "../../../agent-server/store/schema.ts";

export type FoundItemsPage = z.infer<typeof FoundItems>;
export type StoreItem = FoundItemsPage["items"][number];

/** Returns the namespace and the key as one text. Labels contain no dots. */
export function idOf({ namespace, key }: Pick<StoreItem, "namespace" | "key">): string {
  return `${namespace.join(".")}/${key}`;
}

/** Returns the parameters of the API that identify the item of an id. */
export function paramsOf(id: string): { namespace: string; key: string } {
  const at = id.indexOf("/");
  return { namespace: id.slice(0, at), key: id.slice(at + 1) };
}
