import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { json, textField } from "../shared/schema.ts";

const EVENTS = "text/event-stream";

/** Describes a page as JSON, or as one event with a JSON Patch: `streaming` of the langsmith SDK reads the event. */
export function pageOrEvents<T extends z.ZodType>(schema: T) {
  const page = json(schema, "Page of results; with `Accept: text/event-stream` one event");
  const patch = 'data: [{"op":"add","path":"","value":{"items":[],"has_more":false}}]';
  const Events = { schema: textField("The page as JSON Patch", patch) };
  return { ...page, content: { ...page.content, [EVENTS]: Events } };
}

export function wantsEvents(c: Context): boolean {
  return c.req.header("Accept") === EVENTS;
}

export function pageAsEvents(c: Context, page: unknown) {
  const patch = [{ op: "add", path: "", value: page }];
  return c.body(`data: ${JSON.stringify(patch)}\n\n`, 200, { "Content-Type": EVENTS });
}
