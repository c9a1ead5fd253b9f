import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { body, json, operationWithTag, problem } from "../../shared/schema.ts";
import { pageAsEvents, pageOrEvents, wantsEvents } from "../page-events.ts";
import {
  OneThreadStatsQuery,
  ThreadParams,
  ThreadStatsRequest,
  ThreadsPage,
  ThreadsQueryRequest,
  ThreadTraces,
  ThreadTracesQuery,
} from "./thread-schema.ts";
import {
  getThreadStats,
  getThreadsStats,
  listThreadTraces,
  queryThreads,
} from "./thread-service.ts";

export const threadTraceRoutes = router();

const operation = operationWithTag("Trace threads");
const problems = { 404: problem("The project does not exist") };
const Stats = z.record(z.string(), z.unknown());

const query = operation("post", "/api/v2/threads/query", "queryTraceThreads", {
  summary: "Query threads of traces",
  description: "Groups the traces of a project by thread. A filter applies to their root runs.",
  request: { body: body(ThreadsQueryRequest) },
  responses: { 200: pageOrEvents(ThreadsPage), ...problems },
});
threadTraceRoutes.openapi(query, async (c) => {
  const page = await queryThreads(c.var.ctx, c.req.valid("json"));
  return wantsEvents(c) ? pageAsEvents(c, page) : c.json(page, 200);
});

const stats = operation("post", "/api/v2/threads/stats", "getTraceThreadsStats", {
  summary: "Get statistics of threads",
  description: "Sums and distributions over the traces of each thread.",
  request: { body: body(ThreadStatsRequest) },
  responses: { 200: json(Stats, "The selected statistics"), ...problems },
});
threadTraceRoutes.openapi(stats, async (c) =>
  c.json(await getThreadsStats(c.var.ctx, c.req.valid("json")), 200),
);

const traces = operation("get", "/api/v2/threads/{thread_id}/traces", "listThreadTraces", {
  summary: "List traces of a thread",
  description: "Root runs of the thread in a project, by page with a cursor.",
  request: { params: ThreadParams, query: ThreadTracesQuery },
  responses: { 200: json(ThreadTraces, "Page of results"), ...problems },
});
threadTraceRoutes.openapi(traces, async (c) => {
  const { thread_id } = c.req.valid("param");
  return c.json(await listThreadTraces(c.var.ctx, thread_id, c.req.valid("query")), 200);
});

const one = operation("get", "/api/v2/threads/{thread_id}/stats", "getTraceThreadStats", {
  summary: "Get statistics of a thread",
  description: "Sums and distributions over the traces of the thread.",
  request: { params: ThreadParams, query: OneThreadStatsQuery },
  responses: { 200: json(Stats, "The selected statistics"), ...problems },
});
threadTraceRoutes.openapi(one, async (c) => {
  const { thread_id } = c.req.valid("param");
  return c.json(await getThreadStats(c.var.ctx, thread_id, c.req.valid("query")), 200);
});
