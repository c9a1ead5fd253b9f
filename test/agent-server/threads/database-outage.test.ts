import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { person } from "../../control-plane/oauth/support.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { failD1, failR2 } from "../../support/outage.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const MINUTE_MS = 60_000;
const ECHO = { assistant_id: "echo", input: { messages: [] } };

const NEW_DEPLOYMENT = {
  name: "new",
  source: "github",
  source_config: { repo_url: "http://127.0.0.1:9/acme/agent.git", deployment_type: "dev" },
  source_revision_config: { repo_ref: "main" },
};

let ours: TestWorkspace;
let deployment_id: string;
/** Grows over all tests: an isolate's time never goes back. */
let passed = 0;

beforeEach(async () => {
  ours = await workspace();
  deployment_id = (await testDeployment(ours.workspace_id)).deployment_id;
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + passed);
  // Ends the outage of the test before, for the isolate.
  passed += MINUTE_MS;
  await answer("/threads/count", {});
});
afterEach(() => void vi.restoreAllMocks());

async function send(path: string, json?: unknown, key = ours.editor): Promise<Response> {
  const url = path.startsWith("/v2/") ? path : `/agents/${deployment_id}${path}`;
  return api(url, { key, json });
}

async function answer<T>(path: string, json?: unknown): Promise<T> {
  const response = await send(path, json);
  const text = await response.text();
  expect(response.status, `${path}: ${text}`).toBe(200);
  return (text.startsWith("event:") ? text : JSON.parse(text)) as T;
}

const newThread = () => answer<{ thread_id: string }>("/threads", {});

/** Requests that a deployment serves, each with a new run. */
async function runAll(thread_id: string) {
  const { run_id } = await answer<{ run_id: string }>(`/threads/${thread_id}/runs`, ECHO);
  await answer(`/threads/${thread_id}/runs/wait`, ECHO);
  expect(await answer<string>(`/threads/${thread_id}/runs/stream`, ECHO)).toContain(
    "event: values",
  );
  expect(await answer("/runs/wait", ECHO)).toMatchObject({ messages: [{ type: "ai" }] });
  expect(await answer<string>("/runs/stream", ECHO)).toContain("event: values");
  const run = await answer<{ status: string }>(`/threads/${thread_id}/runs/${run_id}`);
  expect(run.status).toBe("success");
}

async function expectUnavailable(response: Response) {
  expect(response.status).toBe(503);
  expect(response.headers.get("Retry-After")).toBe("5");
  expect(await response.text()).toContain("The database of this region does not answer");
}

function eventsIn(log: { mock: { calls: unknown[][] } }): string[] {
  return log.mock.calls.map(([line]) => (JSON.parse(String(line)) as { event: string }).event);
}

test("a deployment that the isolate does not know is unavailable without D1", async () => {
  const unknown = (await testDeployment(ours.workspace_id)).deployment_id;
  const endOutage = failD1();
  const response = await api(`/agents/${unknown}/threads`, { key: ours.editor, json: {} });
  endOutage();
  await expectUnavailable(response);
});

test("runs of a known deployment continue without D1, and searches find them", async () => {
  const [errors, infos] = [vi.spyOn(console, "error"), vi.spyOn(console, "info")];
  const { thread_id } = await newThread();
  await runAll(thread_id);
  const endOutage = failD1();
  const made = [thread_id];
  for (const _ of [1, 2]) {
    passed += 2 * MINUTE_MS;
    await runAll(thread_id);
    made.push((await newThread()).thread_id);
    await runAll(made.at(-1) ?? "");
  }
  const [idle, ids] = [new Array(made.length).fill("idle"), made.toSorted()];
  await eventually(async () => {
    const found = await answer<{ thread_id: string; status: string }[]>("/threads/search", {});
    expect(found.map(({ thread_id }) => thread_id).sort()).toEqual(ids);
    expect(found.map(({ status }) => status)).toEqual(idle);
  });
  await expectUnavailable(await send("/v2/deployments"));
  await expectUnavailable(await send("/v2/deployments", NEW_DEPLOYMENT));
  endOutage();
  passed += MINUTE_MS;
  expect((await send("/v2/deployments")).status).toBe(200);
  expect(eventsIn(errors).filter((event) => event === "database_outage_began")).toHaveLength(1);
  expect(eventsIn(infos).filter((event) => event === "database_outage_ended")).toHaveLength(1);
}, 120_000);

/** The isolates of another machine: none is loaded. */
function onAnotherMachine() {
  const prototype = Object.getPrototypeOf(env.LOADER) as WorkerLoader;
  const { get } = prototype;
  const machine = crypto.randomUUID();
  const load = vi.spyOn(prototype, "get");
  load.mockImplementation(function (this: WorkerLoader, name, code) {
    return get.call(this, `${name}:${machine}`, code);
  });
}

test("an isolate of a known deployment that is not loaded yet is loaded without D1", async () => {
  const { thread_id } = await newThread();
  await runAll(thread_id);
  failD1();
  onAnotherMachine();
  passed += 2 * MINUTE_MS;
  await runAll(thread_id);
}, 60_000);

test("a run whose agent cannot be loaded continues after the outage", async () => {
  const { thread_id } = await newThread();
  await runAll(thread_id);
  const ends = [failD1(), failR2()];
  onAnotherMachine();
  const lines = vi.spyOn(console, "warn");
  passed += 2 * MINUTE_MS;
  const path = `/threads/${thread_id}/runs`;
  const { run_id } = await answer<{ run_id: string }>(path, ECHO);
  const isOfRun = ([line]: unknown[]) =>
    /attempt_lost/.test(`${line}`) && `${line}`.includes(run_id);
  await eventually(() => expect(lines.mock.calls.filter(isOfRun).length).toBeGreaterThan(4));
  for (const end of ends) end();
  await eventually(async () => {
    expect(await answer(`${path}/${run_id}`)).toMatchObject({ status: "success" });
  });
}, 120_000);

test("callers are refused for want of D1 after five minutes, and served again with it", async () => {
  const { thread_id } = await newThread();
  await answer(`/threads/${thread_id}/runs/wait`, ECHO);
  const endOutage = failD1();
  passed += 4.9 * MINUTE_MS;
  await answer(`/threads/${thread_id}/runs/wait`, ECHO);
  passed += 0.2 * MINUTE_MS;
  await expectUnavailable(await send(`/threads/${thread_id}/runs/wait`, ECHO));
  endOutage();
  passed += MINUTE_MS;
  await answer(`/threads/${thread_id}/runs/wait`, ECHO);
});

test("a key whose revocation the isolate has seen is refused without D1", async () => {
  const { thread_id } = await newThread();
  await env.DB.prepare("UPDATE api_keys SET revoked_at = created_at WHERE organization_id = ?")
    .bind(ours.organization_id)
    .run();
  passed += 5000;
  expect((await send(`/threads/${thread_id}`)).status).toBe(401);
  failD1();
  passed += 5000;
  expect((await send(`/threads/${thread_id}`)).status).toBe(503);
});

/** A run that waits behind another, and what lets it start. */
async function queuedRun(key: string) {
  const { thread_id } = await newThread();
  const path = `/threads/${thread_id}/runs`;
  const blocks = { assistant_id: "steps", input: { delay_ms: 600_000 } };
  const blocker = await answer<{ run_id: string }>(path, blocks);
  const queued = await send(path, { ...ECHO, multitask_strategy: "enqueue" }, key);
  const { run_id } = await queued.json<{ run_id: string }>();
  return {
    start: async () => {
      const response = await send(`${path}/${blocker.run_id}/cancel`, {});
      expect(response.status).toBe(202);
    },
    status: async () => (await answer<{ status: string }>(`${path}/${run_id}`)).status,
  };
}

test("a queued run starts without D1, unless the isolate has seen a change of its organization", async () => {
  const dismissed = await person(ours, "editor");
  // The isolate reads that the organization has changed before it accepts the runs.
  passed += 5000;
  await newThread();
  const [before, queued] = [await queuedRun(ours.editor), await queuedRun(dismissed.key)];
  passed += 5000;
  const endFirst = failD1();
  await before.start();
  await eventually(async () => expect(await before.status()).toBe("success"));
  endFirst();

  await env.DB.prepare("UPDATE api_keys SET revoked_at = created_at WHERE user_id = ?")
    .bind(dismissed.user_id)
    .run();
  passed += 5000;
  await newThread();
  const endOutage = failD1();
  const lines = vi.spyOn(console, "warn");
  await queued.start();
  await eventually(() => expect(eventsIn(lines)).toContain("principal_not_checked"));
  expect(await queued.status()).toBe("running");
  endOutage();
  passed += 5000;
  await eventually(async () => expect(await queued.status()).toBe("error"));
}, 60_000);

test("a key that ends in an outage is refused at its end", async () => {
  const expires_at = new Date(Date.now() + MINUTE_MS).toISOString();
  await env.DB.prepare("UPDATE api_keys SET expires_at = ? WHERE organization_id = ?")
    .bind(expires_at, ours.organization_id)
    .run();
  passed += 5000;
  const { thread_id } = await newThread();
  failD1();
  passed += 0.5 * MINUTE_MS;
  expect((await send(`/threads/${thread_id}`)).status).toBe(200);
  passed += MINUTE_MS;
  expect((await send(`/threads/${thread_id}`)).status).toBe(503);
});
