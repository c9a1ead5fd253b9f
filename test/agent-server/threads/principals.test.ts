// Principals of runs that were delayed or queued, and tokens of runs in flight.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import type { StoredRun } from "../../../src/agent-server/threads/contract/stored-run.ts";
import { RunAttempt } from "../../../src/agent-server/threads/object/loop/attempt.ts";
import { refusalOfPrincipal } from "../../../src/agent-server/threads/object/loop/run-principal.ts";
import { api_keys } from "../../../src/control-plane/workspaces/table.ts";
import { database } from "../../../src/shared/context.ts";
import { person } from "../../control-plane/oauth/support.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Run = { run_id: string; thread_id: string; status: string };

const db = database(env);
afterEach(() => {
  vi.restoreAllMocks();
});

let ours: TestWorkspace;
let agent: string;

beforeAll(async () => {
  ours = await workspace();
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});

async function post<T>(key: string, path: string, json: object): Promise<T> {
  const response = await api(`${agent}${path}`, { key, json });
  expect([response.status, path]).toEqual([200, path]);
  return response.json<T>();
}

const newThread = async () =>
  (await post<{ thread_id: string }>(ours.editor, "/threads", {})).thread_id;

const ended = ({ thread_id, run_id }: Run) =>
  eventually(
    async () => {
      const path = `${agent}/threads/${thread_id}/runs/${run_id}`;
      const run = await (await api(path, { key: ours.viewer })).json<Run>();
      expect(["pending", "running"]).not.toContain(run.status);
      return run;
    },
    { interval: 100 },
  );

const stateOf = async (thread_id: string) =>
  JSON.stringify(await (await api(`${agent}/threads/${thread_id}`, { key: ours.viewer })).json());

async function revoke({ user_id }: { user_id: string }) {
  const revoked_at = new Date().toISOString();
  await db.update(api_keys).set({ revoked_at }).where(eq(api_keys.user_id, user_id));
}

const humanInput = (content: string) => ({
  assistant_id: "echo",
  input: { messages: [{ role: "user", content }] },
});

test("a delayed run of a revoked key ends with an error before its graph runs", async () => {
  const [dismissed, editor] = [await person(ours, "editor"), await person(ours, "editor")];
  const [thread_id, other] = [await newThread(), await newThread()];
  const later = { ...humanInput("from the past"), after_seconds: 3600 };
  const refused = await post<Run>(dismissed.key, `/threads/${thread_id}/runs`, later);
  const started = await post<Run>(editor.key, `/threads/${other}/runs`, later);
  await revoke(dismissed);
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 3_700_000);
  for (const id of [thread_id, other]) {
    await runDurableObjectAlarm(env.THREADS.getByName(`${agent.split("/")[2]}/${id}`));
  }
  expect((await ended(refused)).status).toBe("error");
  expect(await stateOf(thread_id)).toContain("principal of the run can no longer start runs");
  expect(await stateOf(thread_id)).not.toContain("from the past");
  expect((await ended(started)).status).toBe("success");
});

test("a queued run of a revoked key ends with an error, and the next one runs", async () => {
  const [dismissed, editor] = [await person(ours, "editor"), await person(ours, "editor")];
  const thread_id = await newThread();
  const runs = `/threads/${thread_id}/runs`;
  const queued = { multitask_strategy: "enqueue" };
  const blocks = { assistant_id: "steps", input: { delay_ms: 600_000 } };
  const { run_id } = await post<Run>(editor.key, runs, blocks);
  const refused = await post<Run>(dismissed.key, runs, {
    ...humanInput("from the past"),
    ...queued,
  });
  const next = await post<Run>(editor.key, runs, { ...humanInput("from now"), ...queued });
  await revoke(dismissed);
  // A run is checked when it is older than a second.
  await scheduler.wait(1500);
  const path = `${agent}${runs}/${run_id}/cancel`;
  expect((await api(path, { key: editor.key, json: {} })).status).toBe(202);
  expect((await ended(refused)).status).toBe("error");
  expect((await ended(next)).status).toBe("success");
  expect(await stateOf(thread_id)).not.toContain("from the past");
});

test("a run waits while D1 is down, and is not ended", async () => {
  const { actor, ...ids } = await callerOf(await person(ours, "editor"));
  let failures = 1;
  const DB = new Proxy(env.DB, {
    get(target, name) {
      if (name === "prepare" && failures-- > 0) throw new Error("D1 is down");
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const run = {
    run_id: "00000000-0000-7000-8000-000000000000",
    revision: { deployment_id: agent.split("/")[2] },
    kwargs: {},
    created_by: { caller: { actor, ...ids }, origin: "https://heddle.test" },
  } as StoredRun;
  expect(
    await refusalOfPrincipal({ ...env, DB }, new RunAttempt(run, false), { metadata: {} }),
  ).toBeNull();
  expect(failures).toBeLessThanOrEqual(0);
});

test("a run whose id has a time in the future is checked", async () => {
  const editor = await person(ours, "editor");
  const run = {
    run_id: "ffffffff-ffff-7000-8000-000000000000",
    revision: { deployment_id: agent.split("/")[2] },
    kwargs: {},
    created_by: { caller: await callerOf(editor), origin: "https://heddle.test" },
  } as StoredRun;
  await revoke(editor);
  const refusal = await refusalOfPrincipal(env, new RunAttempt(run, false), { metadata: {} });
  expect(refusal?.failure?.error).toBe("AuthorizationError");
});

test("a run in flight gets no token for a key that was revoked since", async () => {
  const editor = await person(ours, "editor");
  const caller = await callerOf(editor);
  await revoke(editor);
  const props = { caller, origin: "https://heddle.test", user_id: null, agent_ids: [] };
  const body = JSON.stringify({ provider: "any", scopes: [] });
  const answer = await exports.AgentTokens({ props }).authenticate(body);
  expect(answer.status).toBe(401);
});

async function callerOf({ user_id }: { user_id: string }) {
  const [key] = await db.select().from(api_keys).where(eq(api_keys.user_id, user_id));
  const { organization_id, workspace_id } = ours;
  const actor = { type: "api_key", key_id: key?.id ?? "", user_id } as const;
  return { organization_id, workspace_id, role: "editor", plan: "enterprise", actor } as const;
}
