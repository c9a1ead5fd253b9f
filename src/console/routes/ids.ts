import { notFound } from "@tanstack/react-router";
import { isId } from "../state/search.ts";

/** Shows "No such page" when a part of the address must be a UUID and is not, before a request is sent for it. */
export function requireIds(...ids: string[]): void {
  if (!ids.every(isId)) throw notFound();
}

/** Accepts `{deployment_id}` and `{deployment_id}@{revision_id}`. */
export function requireAgent(ref: string): void {
  const ids = ref.split("@");
  if (ids.length > 2) throw notFound();
  requireIds(...ids);
}
