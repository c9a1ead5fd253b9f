import { z } from "@hono/zod-openapi";

export const eventStream = {
  content: {
    "text/event-stream": {
      schema: z.string(),
      example: 'id: 1\nevent: values\ndata: {"messages":[]}\n\n',
    },
  },
  description: "Server-sent events. `Last-Event-ID` resumes after the id of an event",
};
/** A graph may end with any JSON. */
const AnyJson = z.unknown().openapi({
  type: ["object", "array", "string", "number", "boolean", "null"],
  description: "Values of the graph's state, or what a function returned",
  example: { messages: [{ type: "ai", content: "Hello" }] },
});
export const finalValues = {
  content: { "application/json": { schema: AnyJson } },
  description: "The final values. Newlines before them keep the connection alive",
};

export const PAGE_HEADERS = z.object({
  "x-pagination-next": z
    .string()
    .optional()
    .describe("`offset` of the next page, absent on the last"),
  "x-pagination-total": z
    .string()
    .describe("Number of results: exact on the last page, a lower bound before"),
});
