import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { Run } from "../threads/contract/requests/run-schema.ts";
import { AgentPath, ThreadPath } from "../threads/contract/requests/schema.ts";
import { fireCron, listCronFirings } from "./firing-service.ts";
import {
  Cron,
  CronCount,
  CronCreate,
  CronFiring,
  CronPatch,
  CronPath,
  CronSearch,
  FoundCron,
} from "./schema.ts";
import { countCrons, createCron, deleteCron, getCron, searchCrons, updateCron } from "./service.ts";

const CRONS = "/agents/{deployment_id}/runs/crons";
const operation = operationWithTag("Crons");

export const cronRoutes = router();

cronRoutes.openapi(
  operation("post", CRONS, "createCron", {
    summary: "Create a cron",
    description: "Each run gets a new thread.",
    request: { params: AgentPath, body: body(CronCreate) },
    responses: { 200: json(Cron, "The cron") },
  }),
  async (c) => {
    const target = { ...c.req.valid("param"), origin: originOf(c.req.url) };
    return c.json(await createCron(c.var.ctx, target, c.req.valid("json")), 200);
  },
);

cronRoutes.openapi(
  operation("post", "/agents/{deployment_id}/threads/{thread_id}/runs/crons", "createThreadCron", {
    summary: "Create a thread cron",
    description: "Runs use the same thread. Deleting the thread deletes the cron.",
    request: { params: ThreadPath, body: body(CronCreate) },
    responses: { 200: json(Cron, "The cron") },
  }),
  async (c) => {
    const target = { ...c.req.valid("param"), origin: originOf(c.req.url) };
    return c.json(await createCron(c.var.ctx, target, c.req.valid("json")), 200);
  },
);

cronRoutes.openapi(
  operation("post", `${CRONS}/search`, "searchCrons", {
    summary: "Search crons",
    description: "By assistant, thread, state and metadata.",
    request: { params: AgentPath, body: body(CronSearch) },
    responses: { 200: json(z.array(FoundCron), "The crons") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await searchCrons(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

cronRoutes.openapi(
  operation("post", `${CRONS}/count`, "countCrons", {
    summary: "Count crons",
    description: "Counts what a search with the same filter finds.",
    request: { params: AgentPath, body: body(CronCount) },
    responses: { 200: json(z.number().int(), "Number of crons") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await countCrons(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

cronRoutes.openapi(
  operation("get", `${CRONS}/{cron_id}`, "getCron", {
    summary: "Get a cron",
    description: "With the time of its next run.",
    request: { params: CronPath },
    responses: { 200: json(Cron, "The cron") },
  }),
  async (c) => c.json(await getCron(c.var.ctx, c.req.valid("param")), 200),
);

cronRoutes.openapi(
  operation("patch", `${CRONS}/{cron_id}`, "updateCron", {
    summary: "Update a cron",
    description:
      "Takes effect with the next run. A cron runs with the rights of the caller who changed it last.",
    request: { params: CronPath, body: body(CronPatch) },
    responses: { 200: json(Cron, "The cron") },
  }),
  async (c) => {
    const target = { ...c.req.valid("param"), origin: originOf(c.req.url) };
    return c.json(await updateCron(c.var.ctx, target, c.req.valid("json")), 200);
  },
);

cronRoutes.openapi(
  operation("delete", `${CRONS}/{cron_id}`, "deleteCron", {
    summary: "Delete a cron",
    description: "Runs that it started are kept.",
    request: { params: CronPath },
    responses: { 204: { description: "Deleted" } },
  }),
  async (c) => {
    await deleteCron(c.var.ctx, c.req.valid("param"));
    return c.body(null, 204);
  },
);

cronRoutes.openapi(
  operation("get", `${CRONS}/{cron_id}/firings`, "listCronFirings", {
    summary: "List the last firings of a cron",
    description: "Up to 20, the newest first.",
    request: { params: CronPath },
    responses: { 200: json(z.array(CronFiring), "The firings") },
  }),
  async (c) => c.json(await listCronFirings(c.var.ctx, c.req.valid("param")), 200),
);

cronRoutes.openapi(
  operation("post", `${CRONS}/{cron_id}/fire`, "fireCron", {
    summary: "Create a run of a cron",
    description:
      "Starts the run now, with the rights of the caller. The schedule stays as it is. Requests in the same second start one run.",
    request: { params: CronPath },
    responses: { 200: json(Run, "The run") },
  }),
  async (c) => {
    const target = { ...c.req.valid("param"), origin: originOf(c.req.url) };
    return c.json(await fireCron(c.var.ctx, target), 200);
  },
);
