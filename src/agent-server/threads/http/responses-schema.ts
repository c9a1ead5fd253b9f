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
export const finalValues = {
  content: { "application/json": { schema: z.unknown() } },
  description: "The final values. Newlines before them keep the connection alive",
};

export const PAGE_HEADERS = z.object({
  "x-pagination-next": z.string().optional().openapi({
    description: "`offset` of the next page, absent on the last",
  }),
  "x-pagination-total": z.string().openapi({
    description: "Number of results: exact on the last page, a lower bound before",
  }),
});
