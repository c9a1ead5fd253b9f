import { z } from "@hono/zod-openapi";

export const eventStream = {
  content: { "text/event-stream": { schema: z.string() } },
  description: "Server-sent events; each has an id to resume after",
};
export const finalValues = {
  content: { "application/json": { schema: z.unknown() } },
  description: "The final values, behind newlines that keep the connection alive",
};

export const PAGE_HEADERS = z.object({
  "x-pagination-next": z.string().optional().openapi({
    description: "The offset of the next page; absent on the last",
  }),
  "x-pagination-total": z.string().openapi({
    description: "How many there are: exact on the last page, at least so many before it",
  }),
});
