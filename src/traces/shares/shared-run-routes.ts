import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AppEnv } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { router } from "../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag, problem } from "../../shared/schema.ts";
import { RunsPageV2 } from "../query/query-schema.ts";
import {
  SharedRun,
  SharedRunParams,
  SharedRunsListQuery,
  SharedRunsPage,
  SharedRunsRequest,
  SharedRunsV2Request,
  ShareParams,
} from "./share-schema.ts";
import {
  getSharedRun,
  getSharedRunV2,
  querySharedRuns,
  querySharedRunsV2,
} from "./shared-run-service.ts";

/** Routes without authentication: the token in the URL is the credential. */
export const sharedRunRoutes = router();

const NOT_INDEXED = { "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store" };
const setHeaders = (c: Context<AppEnv>) => {
  for (const [name, value] of Object.entries(NOT_INDEXED)) c.header(name, value);
};
for (const version of ["v1", "v2"]) {
  sharedRunRoutes.use(`/api/${version}/public/*`, async (c, next) => {
    setHeaders(c);
    await next();
  });
}

const operation = operationWithTag("Shared traces");
const security: [] = [];
const failures = { 404: json(ErrorDetail, "The link or the run does not exist") };
const problems = { 404: problem("The link or the run does not exist") };
const run = json(SharedRun, "The run");

const root = operation("get", "/api/v1/public/{share_token}/run", "getSharedTrace", {
  summary: "Get a shared trace's root run",
  description: "Needs no key: the token names the trace. Without metadata and feedback.",
  security,
  request: { params: ShareParams },
  responses: { 200: run, ...failures },
});
sharedRunRoutes.openapi(root, async (c) =>
  c.json(await getSharedRun(c.env, c.req.valid("param").share_token), 200),
);

const one = operation("get", "/api/v1/public/{share_token}/run/{run_id}", "getSharedRun", {
  summary: "Get a run of a shared trace",
  description: "Needs no key. A run of another trace is a 404.",
  security,
  request: { params: SharedRunParams },
  responses: { 200: run, ...failures },
});
sharedRunRoutes.openapi(one, async (c) => {
  const { share_token, run_id } = c.req.valid("param");
  return c.json(await getSharedRun(c.env, share_token, run_id), 200);
});

const query = operation("post", "/api/v1/public/{share_token}/runs/query", "querySharedRuns", {
  summary: "Query runs of a shared trace",
  description:
    "Needs no key. Finds runs of the shared trace, and of the agents that it called in its project.",
  security,
  request: { params: ShareParams, body: body(SharedRunsRequest) },
  responses: { 200: json(SharedRunsPage, "Page of results"), ...failures },
});
sharedRunRoutes.openapi(query, async (c) => {
  const { share_token } = c.req.valid("param");
  return c.json(await querySharedRuns(c.env, share_token, c.req.valid("json")), 200);
});

const list = operation("get", "/api/v1/public/{share_token}/runs", "listSharedRuns", {
  summary: "List runs of a shared trace",
  description: "The first 100 runs. `querySharedRuns` has all of them, by page.",
  security,
  request: { params: ShareParams, query: SharedRunsListQuery },
  responses: { 200: json(z.array(SharedRun), "Runs, the oldest first"), ...failures },
});
sharedRunRoutes.openapi(list, async (c) => {
  const { share_token } = c.req.valid("param");
  const id = c.req.valid("query").id ?? idsInPath(c.req.url);
  return c.json((await querySharedRuns(c.env, share_token, { id })).runs, 200);
});

const queryV2 = operation("post", "/api/v2/public/{share_token}/runs/query", "querySharedRunsV2", {
  summary: "Query runs of a shared trace (v2)",
  description: "Needs no key. Returns the fields in `selects`.",
  security,
  request: { params: ShareParams, body: body(SharedRunsV2Request) },
  responses: { 200: json(RunsPageV2, "Page of up to 1000 runs"), ...problems },
});
sharedRunRoutes.openapi(queryV2, async (c) => {
  const { share_token } = c.req.valid("param");
  return c.json(await querySharedRunsV2(c.env, share_token, c.req.valid("json")), 200);
});

const Selects = z.union([z.string().transform((name) => [name]), z.array(z.string()).max(100)]);

const oneV2 = operation("get", "/api/v2/public/{share_token}/run/{run_id}", "getSharedRunV2", {
  summary: "Get a shared run (v2)",
  description: "Needs no key. Returns the fields in `selects`.",
  security,
  request: {
    params: SharedRunParams,
    query: z.object({ selects: Selects.optional().describe("Fields to return. Default: all") }),
  },
  responses: { 200: json(z.record(z.string(), z.unknown()), "The run"), ...problems },
});
sharedRunRoutes.openapi(oneV2, async (c) => {
  const { share_token, run_id } = c.req.valid("param");
  const { selects } = c.req.valid("query");
  return c.json(await getSharedRunV2(c.env, share_token, run_id, selects), 200);
});

/** LangSmith's JavaScript SDK appends the query to the path, without a question mark. */
function idsInPath(url: string): string[] | undefined {
  const [, query] = new URL(url).pathname.split("/runsshare_token=");
  const ids = new URLSearchParams(query).getAll("id");
  const { success, data } = SharedRunsListQuery.safeParse({ id: ids });
  if (!success) throw invalid(["path", "id"], "must be at most 100 UUIDs");
  return ids.length === 0 ? undefined : data.id;
}
