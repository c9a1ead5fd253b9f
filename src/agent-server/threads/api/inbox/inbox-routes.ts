import { router } from "../../../../shared/http/http.ts";
import { json, operationWithTag } from "../../../../shared/schema.ts";
import { InterruptsQuery, WaitingThreads } from "./inbox-schema.ts";
import { listInterrupts } from "./inbox-service.ts";

export const inboxRoutes = router();

const operation = operationWithTag("Threads");

inboxRoutes.openapi(
  operation("get", "/v1/interrupts", "listInterrupts", {
    summary: "List threads that wait for a person",
    description:
      "Threads of all deployments that wait for a person. A thread with a queued run is busy, and not listed: the run resumes or replaces the interrupt.",
    request: { query: InterruptsQuery },
    responses: { 200: json(WaitingThreads, "Page of results") },
  }),
  async (c) => c.json(await listInterrupts(c.var.ctx, c.req.valid("query")), 200),
);
