import { router } from "../../shared/http/http.ts";
import { body, operationWithTag, problem } from "../../shared/schema.ts";
import { pageAsEvents, pageOrEvents, wantsEvents } from "../page-events.ts";
import { TracesPage, TracesQueryRequest } from "./traces-schema.ts";
import { queryTraces } from "./traces-service.ts";

export const tracesRoutes = router();

const operation = operationWithTag("Trace runs");

const query = operation("post", "/api/v2/traces/query", "queryTraces", {
  summary: "Query traces",
  description:
    "Returns the root runs of a project with the totals of their traces. Pages are stable while new traces arrive.",
  request: { body: body(TracesQueryRequest) },
  responses: { 200: pageOrEvents(TracesPage), 404: problem("The project does not exist") },
});
tracesRoutes.openapi(query, async (c) => {
  const page = await queryTraces(c.var.ctx, c.req.valid("json"));
  return wantsEvents(c) ? pageAsEvents(c, page) : c.json(page, 200);
});
