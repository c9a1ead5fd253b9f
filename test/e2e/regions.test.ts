import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorkspace } from "../../local/create-workspace.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { REGIONS, type Region } from "../../scripts/regions.ts";
import { toIso, toMicros } from "../../src/shared/times.ts";
import { toDottedOrder } from "../../src/traces/dotted-order.ts";
import { createBody, type Deployment, type Revision } from "./support/deployments.ts";
import { type Answer, request } from "./support/http.ts";
import { until } from "./support/stack.ts";

type Ids = Record<string, string>;
type RegionStack = { stack: Stack; dir: string; ids: Ids };
type Operation = { path: string; method: "get" | "delete" };

/** Ids that callers choose: an unknown one has an empty answer. */
const CHOSEN = /\{(agent_id|checkpoint_id|connection_id|auth_id|upload_id|name)\}/;

const places = {} as Record<Region, RegionStack>;
let operations: Operation[];

beforeAll(async () => {
  for (const region of REGIONS) places[region] = await raise(region);
  await Promise.all(REGIONS.map(fill));
  operations = await listOperations();
});

afterAll(async () => {
  for (const { stack, dir } of Object.values(places)) {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
});

async function raise(region: Region): Promise<RegionStack> {
  const dir = await mkdtemp(join(tmpdir(), `heddle-${region}-`));
  return { stack: await startStack({ dir, region, quiet: true }), dir, ids: {} };
}

/** Calls a region; `as` uses the key of another one. */
function call<T = Ids>(
  region: Region,
  method: string,
  path: string,
  body?: unknown,
  as: Region = region,
): Promise<Answer<T>> {
  const { api_key, tenant_id } = places[as].stack.info;
  const url = places[region].stack.info.base_url + path;
  return request<T>(method, url, body, { "x-api-key": api_key, "x-tenant-id": tenant_id });
}

async function make<T = Ids>(region: Region, path: string, body: unknown): Promise<T> {
  const answer = await call<T>(region, "POST", path, body);
  if (answer.status >= 300) {
    throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}

async function fill(region: Region): Promise<void> {
  const { git, s3 } = places[region].stack.info;
  const url = `${git.url}/examples/echo.git`;
  const { id: deployment_id, latest_revision_id: revision_id } = await make<Deployment>(
    region,
    "/v2/deployments",
    createBody("echo", url, { secrets: [{ name: "KEY", value: "secret" }] }),
  );
  await until(
    `The build in ${region}`,
    () =>
      call<Revision>(region, "GET", `/v2/deployments/${deployment_id}/revisions/${revision_id}`),
    ({ body }) => body.status === "DEPLOYED",
  );
  const agent = `/agents/${deployment_id}`;
  const { thread_id = "" } = await make(region, `${agent}/threads`, {});
  const { run_id = "" } = await make(region, `${agent}/threads/${thread_id}/runs`, {
    assistant_id: "echo",
    input: { messages: [{ role: "user", content: `hello ${region}` }] },
  });
  const run = traceRun();
  const session = await make(region, "/api/v1/sessions", { name: "ours" });
  await make(region, "/api/v1/runs", run);
  const feedback = await make(region, "/api/v1/feedback", {
    run_id: run.id,
    key: "good",
    score: 1,
  });
  const destination = await make(region, "/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "bucket",
    config: { bucket_name: s3.bucket, endpoint_url: s3.endpoint, region: s3.region, prefix: "p" },
    credentials: { access_key_id: s3.access_key_id, secret_access_key: s3.secret_access_key },
  });
  const exported = await make(region, "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: session.id,
    start_time: new Date().toISOString(),
    interval_hours: 168,
  });
  const integration = await make(region, "/v1/integrations/github/install", {
    name: "host",
    token: "secret",
    api_url: git.url,
  });
  places[region].ids = {
    deployment_id,
    revision_id,
    thread_id,
    agent_run_id: run_id,
    run_id: run.id,
    session_id: session.id ?? "",
    feedback_id: feedback.id ?? "",
    destination_id: destination.id ?? "",
    bulk_export_id: exported.id ?? "",
    integration_id: integration.id ?? "",
  };
}

function traceRun() {
  const id = crypto.randomUUID();
  const now = toMicros(new Date().toISOString()) ?? 0;
  return {
    id,
    trace_id: id,
    dotted_order: toDottedOrder(now, id),
    session_name: "ours",
    name: "run",
    run_type: "chain",
    start_time: toIso(now),
    end_time: toIso(now + 1000),
    inputs: {},
    outputs: {},
  };
}

async function listOperations(): Promise<Operation[]> {
  const { body } = await call<{ paths: Record<string, object> }>("us", "GET", "/openapi.json");
  return Object.entries(body.paths).flatMap(([path, item]) =>
    (["get", "delete"] as const)
      .filter((method) => method in item && !CHOSEN.test(path) && urlOf(path, places.us.ids))
      .map((method) => ({ path, method })),
  );
}

/** @returns `null` when the path has no id, or no resource of that kind exists */
function urlOf(path: string, ids: Ids): string | null {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const idOf = (name: string) => {
    if (name !== "run_id" || !/^\/(agents|api\/v1\/bulk-exports)\//.test(path)) return ids[name];
    return path.startsWith("/agents/") ? ids.agent_run_id : undefined;
  };
  if (names.length === 0 || names.some((name) => !idOf(name))) return null;
  const query = queryOf(path, ids);
  return path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(name) ?? "") + query;
}

function queryOf(path: string, { session_id }: Ids): string {
  if (path.endsWith("/store/items")) return "?namespace=notes&key=first";
  if (!path.startsWith("/api/v2/threads/")) return "";
  return path.endsWith("/stats")
    ? `?session_id=${session_id}&selects=TURNS`
    : `?project_id=${session_id}`;
}

describe.each([
  ["us", "eu"],
  ["eu", "us"],
] as const)("%s beside %s", (here, there) => {
  // A request for an unknown thread wakes an object with that name.
  test("what it writes to disk knows no id of the other one", async () => {
    const { dir, stack } = places[here];
    const foreign = [places[there].stack.info.tenant_id, ...Object.values(places[there].ids)];
    const files = (await readdir(dir, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name !== "worker.log")
      .map((entry) => join(entry.parentPath, entry.name));
    const contents = await Promise.all(files.map((file) => readFile(file).catch(() => null)));
    const holding = (id: string) => files.filter((_, n) => contents[n]?.includes(id));
    expect(holding(stack.info.tenant_id)).not.toEqual([]);
    for (const id of foreign) expect(holding(id)).toEqual([]);
  });

  test("each runs the environment of its name", async () => {
    const log = await readFile(join(places[here].dir, "worker.log"), "utf8");
    expect(log).toContain(`heddle-artifacts-${here}`);
    expect(log).not.toContain(`-${there}`);
  });

  test("it answers for its own", async () => {
    const answers = [];
    for (const { method, path } of operations) {
      // No repositories, items and webhooks are there, and streams have tests of their own.
      if (method !== "get" || /stream|join|repos$|store|webhook$/.test(path)) continue;
      const url = urlOf(path, places[here].ids) ?? "";
      answers.push([path, (await call(here, "GET", url)).status]);
    }
    expect(answers.length).toBeGreaterThan(15);
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
  });

  test("ids of the other one are not found, by no operation that reads or deletes", async () => {
    const answers = [];
    for (const { path, method } of operations) {
      // Names its item in the body.
      if (method === "delete" && path.endsWith("/store/items")) continue;
      // Reads what the list of the thread's traces reads, at most three times in ten seconds.
      if (path === "/api/v2/threads/{thread_id}/stats") continue;
      const url = urlOf(path, places[there].ids) ?? "";
      answers.push([method, path, (await call(here, method.toUpperCase(), url)).status]);
    }
    expect(answers.filter(([, , status]) => status !== 404)).toEqual([]);
  });

  test("a thread of the other one is not found through an own deployment", async () => {
    const agent = `/agents/${places[here].ids.deployment_id}`;
    const thread = `${agent}/threads/${places[there].ids.thread_id}`;
    const run = `${thread}/runs/${places[there].ids.agent_run_id}`;
    for (const path of [thread, `${thread}/state`, run, `${run}/join`]) {
      expect([path, (await call(here, "GET", path)).status]).toEqual([path, 404]);
    }
    expect((await call(here, "POST", `${thread}/history`, {})).status).toBe(404);
    const input = { assistant_id: "echo", input: {} };
    expect((await call(here, "POST", `${thread}/runs`, input)).status).toBe(404);
  });

  test("an export cannot name the other one's project or destination", async () => {
    const [own, foreign] = [places[here].ids, places[there].ids];
    const order = { start_time: new Date().toISOString(), interval_hours: 168 };
    const mixed = [
      { bulk_export_destination_id: own.destination_id, session_id: foreign.session_id },
      { bulk_export_destination_id: foreign.destination_id, session_id: own.session_id },
    ];
    for (const ids of mixed) {
      const { status } = await call(here, "POST", "/api/v1/bulk-exports", { ...order, ...ids });
      expect(status).toBe(404);
    }
  });

  test("a key of the other one opens nothing, whatever the request", async () => {
    const answers = [];
    for (const ids of [places[here].ids, places[there].ids]) {
      for (const { path, method } of operations) {
        const url = urlOf(path, ids) ?? "";
        const { status } = await call(here, method.toUpperCase(), url, undefined, there);
        answers.push([method, url, status]);
      }
    }
    expect(answers.filter(([, , status]) => status !== 401)).toEqual([]);
    const { status } = await call(here, "GET", "/v2/deployments", undefined, there);
    expect(status).toBe(401);
  });

  test("a workspace that an operator makes is in the region of the folder", async () => {
    const { stack, dir } = places[here];
    const { api_key, tenant_id } = await createWorkspace(dir, "operated");
    const url = `${stack.info.base_url}/v2/deployments`;
    const headers = { "x-api-key": api_key, "x-tenant-id": tenant_id };
    const { status } = await request("GET", url, undefined, headers);
    expect(status).toBe(200);
  });

  test("lists hold what is its own and nothing else", async () => {
    const page = await call<{ resources: Deployment[] }>(here, "GET", "/v2/deployments");
    expect(page.body.resources.map(({ id }) => id)).toEqual([places[here].ids.deployment_id]);
    const exports = await call<Ids[]>(here, "GET", "/api/v1/bulk-exports");
    expect(exports.body.map(({ id }) => id)).toEqual([places[here].ids.bulk_export_id]);
  });
});
