import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { sseResponse } from "../../../../shared/http/sse.ts";
import { body, json, operationWithTag } from "../../../../shared/schema.ts";
import { Run, RunCreate } from "../../contract/requests/run-schema.ts";
import { RunPath, ThreadPath } from "../../contract/requests/schema.ts";
import { pickFields } from "../fields.ts";
import { eventStream, finalValues } from "../responses-schema.ts";
import {
  assertNames,
  runHeaders,
  streamLocation,
  toFollow,
  toList,
  toNamespaces,
  toTarget,
  valuesResponse,
} from "../run-http.ts";
import { RunHeaders } from "./idempotency.ts";
import {
  CancelQuery,
  JoinQuery,
  JoinStreamHeaders,
  JoinStreamQuery,
  RunQuery,
  StreamQuery,
} from "./run-query-schema.ts";
import {
  cancelRun,
  createRun,
  deleteRun,
  followRun,
  getRun,
  joinRun,
  listRuns,
  streamRun,
  waitRun,
} from "./run-service.ts";

const RUNS = "/agents/{deployment_id}/threads/{thread_id}/runs";
const RUN = `${RUNS}/{run_id}` as const;
const RUN_FIELDS = Object.keys(Run.shape);
const operation = operationWithTag("Runs");

/**
 * `cancel_reason` that a cancellation with the reason `taken` stores. Published clients look for the word and the
 * colon.
 */
const TAKEN = "taken: its input was passed to another run";

export const runRoutes = router();

runRoutes.openapi(
  operation("post", RUNS, "createRun", {
    summary: "Create a run",
    description: "Queues the run and returns. Poll it, join it or stream it.",
    request: { params: ThreadPath, body: body(RunCreate), headers: RunHeaders },
    responses: { 200: json(Run, "The run") },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const run = await createRun(c.var.ctx, target, c.req.valid("json"));
    return c.json(Run.parse(run), 200, runHeaders(run));
  },
);

runRoutes.openapi(
  operation("post", `${RUNS}/stream`, "streamRun", {
    summary: "Create a run, stream its events",
    description:
      "The stream ends with the run. The run continues when its reader disconnects, unless `on_disconnect` is `cancel`. A reader may resume after `Last-Event-ID`.",
    request: { params: ThreadPath, query: StreamQuery, body: body(RunCreate), headers: RunHeaders },
    responses: { 200: eventStream },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const namespaces = toNamespaces(c.req.valid("query").namespace);
    const { run, events } = await streamRun(c.var.ctx, target, c.req.valid("json"), namespaces);
    return sseResponse(events, runHeaders(run, streamLocation(c.req.raw)));
  },
);

runRoutes.openapi(
  operation("post", `${RUNS}/wait`, "waitRun", {
    summary: "Create a run, wait for output",
    description: "Returns the final values of the thread.",
    request: { params: ThreadPath, body: body(RunCreate), headers: RunHeaders },
    responses: { 200: finalValues },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const { run, body } = await waitRun(c.var.ctx, target, c.req.valid("json"));
    return valuesResponse(body, runHeaders(run, "join"));
  },
);

runRoutes.openapi(
  operation("get", RUNS, "listRuns", {
    summary: "List runs",
    description: "Runs of a thread, newest first.",
    request: { params: ThreadPath, query: RunQuery },
    responses: { 200: json(z.array(Run.partial()), "The runs") },
  }),
  async (c) => {
    const { select, ...query } = c.req.valid("query");
    const fields = toList(select);
    assertNames("select", fields, RUN_FIELDS);
    const runs = await listRuns(c.var.ctx, c.req.valid("param"), query);
    return c.json(
      runs.map((run) => pickFields(Run.parse(run), fields)),
      200,
    );
  },
);

runRoutes.openapi(
  operation("get", RUN, "getRun", {
    summary: "Get a run",
    description: "The status of a run. Its output is the state of the thread.",
    request: { params: RunPath },
    responses: { 200: json(Run, "The run") },
  }),
  async (c) => c.json(Run.parse(await getRun(c.var.ctx, c.req.valid("param"))), 200),
);

runRoutes.openapi(
  operation("delete", RUN, "deleteRun", {
    summary: "Delete a run",
    description: "Deletes its checkpoints too.",
    request: { params: RunPath },
    responses: { 204: { description: "Deleted" } },
  }),
  async (c) => {
    await deleteRun(c.var.ctx, c.req.valid("param"));
    return c.body(null, 204);
  },
);

runRoutes.openapi(
  operation("post", `${RUN}/cancel`, "cancelRun", {
    summary: "Cancel a run",
    description:
      "`interrupt` keeps the checkpoints of the run, `rollback` deletes them and the run.",
    request: { params: RunPath, query: CancelQuery },
    responses: {
      202: { description: "The cancellation has begun" },
      204: { description: "The run has ended" },
    },
  }),
  async (c) => {
    const { wait, action, reason } = c.req.valid("query");
    const options = { wait, reason: reason === "taken" ? TAKEN : (reason ?? null) };
    await cancelRun(c.var.ctx, c.req.valid("param"), action, options);
    return c.body(null, wait ? 204 : 202);
  },
);

runRoutes.openapi(
  operation("get", `${RUN}/join`, "joinRun", {
    summary: "Wait for a run",
    description: "Returns the final values of the thread.",
    request: { params: RunPath, query: JoinQuery },
    responses: { 200: finalValues },
  }),
  async (c) => {
    const { cancel_on_disconnect } = c.req.valid("query");
    const stream = await joinRun(c.var.ctx, c.req.valid("param"), cancel_on_disconnect);
    return valuesResponse(stream);
  },
);

runRoutes.openapi(
  operation("get", `${RUN}/stream`, "joinRunStream", {
    summary: "Stream a run",
    description: "From the first event, or after `Last-Event-ID`.",
    request: { params: RunPath, query: JoinStreamQuery, headers: JoinStreamHeaders },
    responses: { 200: eventStream },
  }),
  async (c) => {
    const id = c.req.valid("param");
    const follow = toFollow(c.req.valid("query"), c.req.valid("header"));
    const headers = runHeaders(id, streamLocation(c.req.raw));
    return sseResponse(await followRun(c.var.ctx, id, follow), headers);
  },
);
