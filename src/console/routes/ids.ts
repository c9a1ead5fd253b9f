import { notFound } from "@tanstack/react-router";
import { isId } from "../state/search.ts";

/** Shows "No such page" for an address whose ids are none, before a request is sent for it. */
export function requireIds(...ids: string[]): void {
  if (!ids.every(isId)) throw notFound();
}

/** Accepts the id of a deployment, or with `@` and the id of a revision. */
export function requireAgent(ref: string): void {
  const ids = ref.split("@");
  if (ids.length > 2) throw notFound();
  requireIds(...ids);
}
