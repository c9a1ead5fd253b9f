import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, json } from "../shared/schema.ts";
import { Info, Ok, SERVICE_INFO } from "../shared/version.ts";
import { agentErrors } from "./errors-schema.ts";
import { AgentPath, Thread, ThreadCreate, ThreadPatch, ThreadPath } from "./schema.ts";
import { createThread, deleteThread, getThread, openAgent, updateThread } from "./service.ts";

export const threadRoutes = router();

threadRoutes.openapi(
  createRoute({
    method: "post",
    path: "/agents/{deployment_id}/threads",
    operationId: "createThread",
    tags: ["Threads"],
    summary: "Create a thread",
    request: { params: AgentPath, body: body(ThreadCreate) },
    responses: { 200: json(Thread, "The thread"), ...agentErrors },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const thread = await createThread(c.var.ctx, deployment_id, c.req.valid("json"));
    return c.json(Thread.parse(thread), 200);
  },
);

threadRoutes.openapi(
  createRoute({
    method: "get",
    path: "/agents/{deployment_id}/threads/{thread_id}",
    operationId: "getThread",
    tags: ["Threads"],
    summary: "Get a thread with its status and its latest values",
    request: { params: ThreadPath },
    responses: { 200: json(Thread, "The thread"), ...agentErrors },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    return c.json(Thread.parse(await getThread(c.var.ctx, deployment_id, thread_id)), 200);
  },
);

threadRoutes.openapi(
  createRoute({
    method: "patch",
    path: "/agents/{deployment_id}/threads/{thread_id}",
    operationId: "updateThread",
    tags: ["Threads"],
    summary: "Merge metadata into a thread's own",
    request: { params: ThreadPath, body: body(ThreadPatch) },
    responses: { 200: json(Thread, "The thread"), ...agentErrors },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    const { metadata } = c.req.valid("json");
    const thread = await updateThread(c.var.ctx, deployment_id, thread_id, metadata);
    return c.json(Thread.parse(thread), 200);
  },
);

threadRoutes.openapi(
  createRoute({
    method: "delete",
    path: "/agents/{deployment_id}/threads/{thread_id}",
    operationId: "deleteThread",
    tags: ["Threads"],
    summary: "Delete a thread with its runs, its state and its stream",
    request: { params: ThreadPath },
    responses: { 204: { description: "Deleted" }, ...agentErrors },
  }),
  async (c) => {
    const { deployment_id, thread_id } = c.req.valid("param");
    await deleteThread(c.var.ctx, deployment_id, thread_id);
    return c.body(null, 204);
  },
);

threadRoutes.openapi(
  createRoute({
    method: "get",
    path: "/agents/{deployment_id}/ok",
    operationId: "agentOk",
    tags: ["System"],
    summary: "Whether an agent serves",
    request: { params: AgentPath },
    responses: { 200: json(Ok, "It does"), ...agentErrors },
  }),
  async (c) => {
    await openAgent(c.var.ctx, c.req.valid("param").deployment_id, "read");
    return c.json({ ok: true as const }, 200);
  },
);

threadRoutes.openapi(
  createRoute({
    method: "get",
    path: "/agents/{deployment_id}/info",
    operationId: "agentInfo",
    tags: ["System"],
    summary: "The version of an agent's server, and what it can do",
    request: { params: AgentPath },
    responses: { 200: json(Info, "Version and flags"), ...agentErrors },
  }),
  async (c) => {
    await openAgent(c.var.ctx, c.req.valid("param").deployment_id, "read");
    return c.json(SERVICE_INFO, 200);
  },
);
