import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { sseResponse } from "../../../../shared/http/sse.ts";
import { body, json, operationWithTag } from "../../../../shared/schema.ts";
import { Run, RunBatch, RunCreate } from "../../contract/requests/run-schema.ts";
import { AgentPath, ThreadlessRunPath } from "../../contract/requests/schema.ts";
import { eventStream, finalValues } from "../responses-schema.ts";
import {
  runHeaders,
  streamLocation,
  threadlessRunHeaders,
  toFollow,
  toNamespaces,
  toTarget,
  valuesResponse,
} from "../run-http.ts";
import { cancelRuns } from "./bulk-cancel.ts";
import { KeyHeaders } from "./idempotency.ts";
import {
  CancelRuns,
  CancelRunsQuery,
  JoinStreamHeaders,
  JoinStreamQuery,
  StreamQuery,
} from "./run-query-schema.ts";
import { createRun, createRunBatch, followRun, streamRun, waitRun } from "./run-service.ts";

const RUNS = "/agents/{deployment_id}/runs";
const operation = operationWithTag("Threadless runs");
const request = { params: AgentPath, body: body(RunCreate), headers: KeyHeaders };

export const threadlessRoutes = router();

threadlessRoutes.openapi(
  operation("post", RUNS, "createThreadlessRun", {
    summary: "Create a threadless run",
    description:
      "Creates a thread for the run. Deletes it when the run ends, unless `on_completion` is `keep` or `continue`.",
    request,
    responses: { 200: json(Run, "The run") },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const run = await createRun(c.var.ctx, target, c.req.valid("json"));
    return c.json(Run.parse(run), 200, threadlessRunHeaders(run));
  },
);

threadlessRoutes.openapi(
  operation("post", `${RUNS}/stream`, "streamThreadlessRun", {
    summary: "Create a threadless run, stream events",
    description: "The thread is temporary, unless `on_completion` is `keep` or `continue`.",
    request: { ...request, query: StreamQuery },
    responses: { 200: eventStream },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const namespaces = toNamespaces(c.req.valid("query").namespace);
    const { run, events } = await streamRun(c.var.ctx, target, c.req.valid("json"), namespaces);
    return sseResponse(events, threadlessRunHeaders(run, streamLocation(c.req.raw)));
  },
);

threadlessRoutes.openapi(
  operation("post", `${RUNS}/wait`, "waitThreadlessRun", {
    summary: "Create a threadless run, wait for output",
    description:
      "Returns the final values. The thread is temporary, unless `on_completion` is `keep` or `continue`.",
    request,
    responses: { 200: finalValues },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const { run, body } = await waitRun(c.var.ctx, target, c.req.valid("json"));
    const { Location: join } = runHeaders(run, "join");
    return valuesResponse(body, { ...threadlessRunHeaders(run), Location: join });
  },
);

threadlessRoutes.openapi(
  operation("post", `${RUNS}/batch`, "createRunBatch", {
    summary: "Create several threadless runs",
    description: "Each run gets its own thread.",
    request: { params: AgentPath, body: body(RunBatch), headers: KeyHeaders },
    responses: { 200: json(z.array(Run), "The runs, in the order of the request") },
  }),
  async (c) => {
    const target = toTarget(c.req.valid("param"), c.req.raw, c.req.valid("header"));
    const runs = await createRunBatch(c.var.ctx, target, c.req.valid("json"));
    return c.json(
      runs.map((run) => Run.parse(run)),
      200,
    );
  },
);

threadlessRoutes.openapi(
  operationWithTag("Runs")("post", `${RUNS}/cancel`, "cancelRuns", {
    summary: "Cancel several runs",
    description:
      "Selects runs by their ids, or all runs of a status. With a status, a run that was accepted within the last second may end a second after the response.",
    request: { params: AgentPath, query: CancelRunsQuery, body: body(CancelRuns) },
    responses: { 204: { description: "Cancelled" } },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const { action } = c.req.valid("query");
    await cancelRuns(c.var.ctx, deployment_id, c.req.valid("json"), action);
    return c.body(null, 204);
  },
);

threadlessRoutes.openapi(
  operation("get", `${RUNS}/{run_id}/stream`, "joinThreadlessRunStream", {
    summary: "Stream a threadless run",
    description: "From the first event, or after `Last-Event-ID`.",
    request: { params: ThreadlessRunPath, query: JoinStreamQuery, headers: JoinStreamHeaders },
    responses: { 200: eventStream },
  }),
  async (c) => {
    const { deployment_id, run_id } = c.req.valid("param");
    const follow = toFollow(c.req.valid("query"), c.req.valid("header"));
    // The thread of a threadless run has the run's id.
    const stream = await followRun(c.var.ctx, { deployment_id, thread_id: run_id, run_id }, follow);
    return sseResponse(stream, threadlessRunHeaders({ run_id }, streamLocation(c.req.raw)));
  },
);
