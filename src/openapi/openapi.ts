import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "../shared/context.ts";
import { baseUrl } from "../shared/http/base-url.ts";
import { originOf } from "../shared/http/http.ts";
import { Ok, VERSION } from "../shared/http/version.ts";
import { json } from "../shared/schema.ts";
import { TRACING_INFO, TracingInfo } from "../traces/ingest/tracing-info.ts";
import { completeResponses } from "./document.ts";
import { addExamples } from "./examples.ts";

const INFO = {
  title: "Heddle",
  version: VERSION,
  license: { name: "MIT", identifier: "MIT" },
  description:
    "Deploy LangGraph.js agents from git, run them on durable threads, export every trace.",
};

const TAGS = [
  { name: "Deployments", description: "Agents deployed from git" },
  { name: "Revisions", description: "Builds of a deployment, and their logs" },
  { name: "Integrations", description: "Credentials for repository hosts" },
  { name: "OAuth", description: "OAuth providers, consents, and tokens for agents" },
  { name: "Listeners", description: "Deployments outside of Heddle (enterprise plan)" },
  { name: "Assistants", description: "Versioned configurations of graphs" },
  { name: "Threads", description: "Durable state of a conversation with an agent" },
  { name: "Runs", description: "One execution of an assistant, on a thread or without" },
  { name: "Threadless runs", description: "Runs with a temporary thread" },
  { name: "Webhooks", description: "Webhooks of runs, and their signatures" },
  { name: "Thread state", description: "Current state, history and checkpoints of threads" },
  { name: "Event streaming", description: "Typed events of a thread, over SSE and WebSocket" },
  { name: "Store", description: "Items that the threads of a deployment share" },
  { name: "Crons", description: "Runs on a schedule" },
  { name: "UI", description: "Components that an agent's messages refer to" },
  { name: "MCP", description: "Assistants as tools of the Model Context Protocol" },
  { name: "A2A", description: "Assistants as agents of the Agent2Agent protocol" },
  { name: "Traces", description: "Traces of agents and programs" },
  { name: "Projects", description: "Groups of traces, named `session` in paths and fields" },
  { name: "Trace runs", description: "Runs within traces of any program" },
  { name: "Trace threads", description: "Traces grouped by thread" },
  { name: "Shared traces", description: "Links that show a trace without a key" },
  { name: "Feedback", description: "Scores, values and comments on trace runs" },
  {
    name: "Bulk exports",
    description: "Traces written to a bucket as Parquet, once or on a schedule",
  },
  { name: "Export destinations", description: "Buckets that traces are exported to" },
  { name: "API keys", description: "Keys of a workspace, of the organization, and personal ones" },
  { name: "Members", description: "Users, and their roles in workspaces and the organization" },
  { name: "Audit", description: "Log of changes" },
  { name: "Alerts", description: "Conditions on traces and quotas, and their webhooks" },
  { name: "Usage", description: "Work of a workspace by day, and its quotas" },
  { name: "Sessions", description: "Sign-in of the console, and the principal of a request" },
  { name: "System", description: "Health and version" },
];

const SCHEMES = {
  ApiKey: { type: "apiKey", in: "header", name: "X-Api-Key" },
  TenantId: {
    type: "apiKey",
    in: "header",
    name: "X-Tenant-Id",
    description: "Id of the workspace. Required for a key of several workspaces",
  },
  Bearer: {
    type: "http",
    scheme: "bearer",
    description: "An API key, or a JWT of the configured issuer",
  },
} as const;

const SECURITY = [
  { ApiKey: [] },
  { ApiKey: [], TenantId: [] },
  { Bearer: [] },
  { Bearer: [], TenantId: [] },
];

const METHODS = ["get", "put", "post", "patch", "delete"] as const;

export type Document = ReturnType<OpenAPIHono<AppEnv>["getOpenAPI31Document"]>;

export function addSystemRoutes(app: OpenAPIHono<AppEnv>): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/ok",
      operationId: "ok",
      tags: ["System"],
      summary: "Check health",
      description: "Answers while the Worker serves requests. `/v1/health` checks the stores.",
      security: [],
      responses: { 200: json(Ok, "The service is healthy") },
    }),
    (c) => c.json({ ok: true as const }, 200),
  );
  app.openapi(
    createRoute({
      method: "get",
      path: "/info",
      operationId: "info",
      tags: ["System"],
      summary: "Get version and features",
      description:
        "The version, the features, and the limits of batches for clients that send traces.",
      security: [],
      responses: { 200: json(TracingInfo, "Version, features, and how to send traces") },
    }),
    (c) => c.json(TRACING_INFO, 200),
  );
}

/** Returns a function that builds the document at its first call, from the routes that are registered then. */
export function documentOf(app: OpenAPIHono<AppEnv>): () => Document {
  let document: Document | undefined;
  return () => {
    document ??= completed(
      app.getOpenAPI31Document({ openapi: "3.1.0", info: INFO, tags: TAGS, security: SECURITY }),
    );
    return document;
  };
}

export function addDocument(app: OpenAPIHono<AppEnv>, document: () => Document): void {
  for (const [name, scheme] of Object.entries(SCHEMES)) {
    app.openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  }
  app.get("/openapi.json", (c) => {
    const url = baseUrl(c.env, originOf(c.req.url));
    return c.json({ ...document(), servers: [{ url }] });
  });
}

function completed(document: Document): Document {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const method of METHODS) {
      const contract = item[method];
      if (contract === undefined) continue;
      const { operationId = "", security, requestBody } = contract;
      const is_public = security?.length === 0;
      const reads_body = requestBody !== undefined;
      const operation = { operationId, method: method.toUpperCase(), path, is_public, reads_body };
      contract.responses = completeResponses(operation, contract.responses ?? {});
      addExamples(contract, document.components?.schemas ?? {});
    }
  }
  return document;
}
