import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { sseResponse } from "../../../../shared/http/sse.ts";
import { body, json, operationWithTag } from "../../../../shared/schema.ts";
import { AgentPath, Thread, ThreadPath } from "../../contract/requests/schema.ts";
import {
  FoundThread,
  ThreadCount,
  ThreadCreate,
  ThreadPatch,
  ThreadPatchHeaders,
  ThreadPrune,
  ThreadQuery,
  ThreadSearch,
  ThreadStatusCounts,
  ThreadStreamHeaders,
  ThreadStreamQuery,
  ThreadsPruned,
  ThreadWithTtl,
} from "../../contract/requests/thread-schema.ts";
import { eventStream, PAGE_HEADERS } from "../responses-schema.ts";
import { assertNames, streamLocation, toList, toThreadFollow } from "../run-http.ts";
import { createThread, deleteThread, getThread, updateThread } from "./service.ts";
import {
  copyThread,
  countThreads,
  countThreadsByStatus,
  followThread,
  pruneThreads,
  searchThreads,
} from "./thread-service.ts";

export const threadRoutes = router();

const operation = operationWithTag("Threads");

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads", "createThread", {
    summary: "Create a thread",
    description:
      "An id that exists is a 409, unless `if_exists` is `do_nothing`. `supersteps` write a history.",
    request: { params: AgentPath, body: body(ThreadCreate) },
    responses: { 200: json(Thread, "The thread") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const thread = await createThread(c.var.ctx, deployment_id, c.req.valid("json"));
    return c.json(Thread.parse(thread), 200);
  },
);

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/search", "searchThreads", {
    summary: "Search threads",
    description:
      "Finds threads by status, metadata and values of the state. What a caller created is found by its next search.",
    request: { params: AgentPath, body: body(ThreadSearch) },
    responses: {
      200: { ...json(z.array(FoundThread), "Page of results"), headers: PAGE_HEADERS },
    },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const query = c.req.valid("json");
    const { rows, headers } = await searchThreads(c.var.ctx, deployment_id, query);
    return c.json(rows, 200, headers);
  },
);

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/count", "countThreads", {
    summary: "Count threads",
    description: "Counts what a search with the same filter finds.",
    request: { params: AgentPath, body: body(ThreadCount) },
    responses: { 200: json(z.number().int(), "Number of matches") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await countThreads(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/count_by_status", "countThreadsByStatus", {
    summary: "Count threads by status",
    description: "Counts what a search with the same filter finds, for each status.",
    request: { params: AgentPath, body: body(ThreadCount) },
    responses: { 200: json(ThreadStatusCounts, "Number of matches of each status") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await countThreadsByStatus(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/prune", "pruneThreads", {
    summary: "Prune threads",
    description: "Deletes threads, or their history except for the latest state.",
    request: { params: AgentPath, body: body(ThreadPrune) },
    responses: { 200: json(ThreadsPruned, "Number of threads pruned") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const pruned_count = await pruneThreads(c.var.ctx, deployment_id, c.req.valid("json"));
    return c.json({ pruned_count }, 200);
  },
);

threadRoutes.openapi(
  operation("get", "/agents/{deployment_id}/threads/{thread_id}", "getThread", {
    summary: "Get a thread",
    description: "With its status, values and interrupts.",
    request: { params: ThreadPath, query: ThreadQuery },
    responses: { 200: json(ThreadWithTtl, "The thread") },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    const thread = await getThread(c.var.ctx, deployment_id, thread_id);
    const included = toList(c.req.valid("query").include).flatMap((names) => names.split(","));
    assertNames("include", included, ["ttl"]);
    const shown = included.includes("ttl") ? ThreadWithTtl : Thread;
    return c.json(shown.parse(thread), 200);
  },
);

threadRoutes.openapi(
  operation("patch", "/agents/{deployment_id}/threads/{thread_id}", "updateThread", {
    summary: "Update a thread",
    description: "Merges `metadata` into the stored metadata. `ttl` sets the retention.",
    request: { params: ThreadPath, headers: ThreadPatchHeaders, body: body(ThreadPatch) },
    responses: {
      200: json(Thread, "The thread"),
      204: { description: "Updated, with `Prefer: return=minimal`" },
    },
  }),
  async (c) => {
    const thread = await updateThread(c.var.ctx, c.req.valid("param"), c.req.valid("json"));
    if (c.req.valid("header").prefer?.includes("return=minimal")) return c.body(null, 204);
    return c.json(Thread.parse(thread), 200);
  },
);

threadRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/{thread_id}/copy", "copyThread", {
    summary: "Copy a thread",
    description: "Copies the whole history.",
    request: { params: ThreadPath },
    responses: { 200: json(Thread, "The copy") },
  }),
  async (c) => c.json(Thread.parse(await copyThread(c.var.ctx, c.req.valid("param"))), 200),
);

threadRoutes.openapi(
  operation("get", "/agents/{deployment_id}/threads/{thread_id}/stream", "joinThreadStream", {
    summary: "Stream a thread",
    description:
      "Server-sent events of all runs of the thread: new ones, or those after `Last-Event-ID`.",
    request: { params: ThreadPath, query: ThreadStreamQuery, headers: ThreadStreamHeaders },
    responses: { 200: eventStream },
  }),
  async (c) => {
    const id = c.req.valid("param");
    const choice = toThreadFollow(c.req.valid("query"), c.req.valid("header"));
    const stream = await followThread(c.var.ctx, id, choice);
    const location = `/threads/${id.thread_id}/${streamLocation(c.req.raw)}`;
    return sseResponse(stream, { Location: location });
  },
);

threadRoutes.openapi(
  operation("delete", "/agents/{deployment_id}/threads/{thread_id}", "deleteThread", {
    summary: "Delete a thread",
    description: "Deletes its runs, state and events too.",
    request: { params: ThreadPath },
    responses: { 204: { description: "Deleted" } },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    await deleteThread(c.var.ctx, deployment_id, thread_id);
    return c.body(null, 204);
  },
);
