import { beforeAll, expect, test } from "vitest";
import { build, deploy, uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { type Bystander, servedUntil } from "./support/neighbours.ts";
import { pushRepository } from "./support/repositories.ts";
import { until, workerPid } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

const CONFIG = (names: string[]) =>
  JSON.stringify({ graphs: Object.fromEntries(names.map((name) => [name, `./agent.ts:${name}`])) });
const BOMBS = `
export async function loop() { for (;;); }
export async function grow() { const kept = []; while (true) kept.push(new Array(1e6).fill(1)); }
export async function buffers() { const kept = []; while (true) kept.push(new Uint8Array(64 << 20).fill(1)); }
`;
const EVENT_FLOODS = `
const text = "x".repeat(1000);
export function* event_flood(_, { emit }) { for (;;) { emit(text); yield; } }
export function* small_event_flood(_, { emit }) { for (;;) { emit(1); yield; } }
export function event_burst(_, { emit }) { for (;;) emit(text); }
`;
/** Captures the host of its run where the harness reads it, which is for a request to the API of LangSmith. */
const HOST_FLOODS = `
import { AsyncLocalStorage } from "node:async_hooks";
async function hostOfRun() {
  let host;
  const { getStore } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype.getStore = function () {
    const store = Reflect.apply(getStore, this, []);
    if (typeof store?.host?.commit === "function") host = store.host;
    return store;
  };
  await fetch("https://heddle.internal/");
  AsyncLocalStorage.prototype.getStore = getStore;
  return host;
}
const MIB = 1024 * 1024;
const idOf = (n) => "1ef00000-0000-6000-8000-" + String(n).padStart(12, "0");
const atOnce = (call) => Promise.all(Array.from({ length: 200 }, call));

// In another namespace than the run's state, so that the run can be retried.
function checkpoint(n, values = []) {
  const text = JSON.stringify({ v: 4, id: idOf(n), channel_versions: { big: 1 } });
  const of = { op: "checkpoint", ns: "bomb", checkpoint_id: idOf(n), parent_id: null };
  return { ...of, checkpoint: text, metadata: "{}", values };
}

export async function checkpoint_lists() {
  const host = await hostOfRun();
  const value = { channel: "big", version: 1, type: "bytes", data: new Uint8Array(12 * MIB) };
  await host.commit([checkpoint(0, [value])]);
  await host.commit(Array.from({ length: 250 }, (_, n) => checkpoint(n)));
  for (;;) await atOnce(() => host.listCheckpoints({}));
}

export async function trace_texts() {
  const host = await hostOfRun();
  const trace = (inputs) =>
    ({ op: "trace", kind: "post", id: idOf(0), open: null, data: "{}", texts: { inputs } });
  const whole = trace({ id: 0, text: "x".repeat(10 * MIB) });
  const part = trace({ of: 0, before: "", from: 0, chars: 10 * MIB, rest: "" });
  const ops = [whole, ...Array(5000).fill(part)];
  for (;;) await host.commit(ops);
}
`;
const LOADS_FOR_EVER = "for (;;); export async function echo() {}";
const VICTIM = `
export async function echo() { return { messages: [{ role: "assistant", content: "still here" }] }; }
export async function slow(_, config) {
  for (let n = 0; n < 10; n++) {
    config.writer?.({ n });
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return { messages: [{ role: "assistant", content: "slow and well" }] };
}
`;

const BOMB_GRAPHS = [
  "loop",
  "grow",
  "buffers",
  "event_flood",
  "small_event_flood",
  "event_burst",
  "checkpoint_lists",
  "trace_texts",
];

type Run = { run_id: string; thread_id: string; status: string };

/** The other tenant. */
let headers: Record<string, string>;
let victim: string;
let bystander: Bystander;
let bombs: string;

beforeAll(async () => {
  headers = await createWorkspace();
  const files = { "langgraph.json": CONFIG(["echo", "slow"]), "agent.ts": VICTIM };
  const bombFiles = {
    "langgraph.json": CONFIG(BOMB_GRAPHS),
    "agent.ts": [HOST_FLOODS, BOMBS, EVENT_FLOODS].join("\n"),
  };
  victim = (await deploy("victim", files, { headers })).id;
  bombs = (await deploy("bombs", bombFiles)).id;
  bystander = { deployment_id: victim, assistant_id: "echo", headers };
});

test.each([
  ["loop", /computed for \d+ s without a pause/],
  ["grow", /memory/],
  ["buffers", /memory/],
  ["event_flood", /The run emitted more than \d+ characters of events/],
  ["small_event_flood", /The run emitted more than \d+ characters of events/],
  ["event_burst", /The run emitted more than \d+ characters of events/],
  ["checkpoint_lists", /memory/],
  ["trace_texts", /bytes of events, checkpoints and traces, the limit of one attempt at a run/],
])("an agent's %s ends its own run and harms no other tenant", async (graph, message) => {
  const worker = await workerPid();
  const inFlight = await create(victim, "slow", headers);
  await until("The other tenant's run", () => read(victim, inFlight, headers), isRunning);
  const bomb = await create(bombs, graph);
  const served = await servedUntil(bystander, async () => isOver(await read(bombs, bomb)));
  expect(served).toBeGreaterThan(0);
  const { thread_id, run_id } = bomb;
  const joined = await request<{ __error__: { message: string } }>(
    "GET",
    `/agents/${bombs}/threads/${thread_id}/runs/${run_id}/join`,
  );
  expect(joined.body.__error__.message).toMatch(message);
  const ended = await until("Its end", () => read(victim, inFlight, headers), isOver);
  expect(ended.status).toBe("success");
  expect(await attemptsOf(inFlight)).toBe(1);
  expect(await workerPid()).toBe(worker);
});

test("an agent that loops while it loads fails its build and harms no other tenant", async () => {
  let ended: Awaited<ReturnType<typeof build>> | undefined;
  const files = { "langgraph.json": CONFIG(["echo"]), "agent.ts": LOADS_FOR_EVER };
  const building = buildLoads(files).then((deployed) => {
    ended = deployed;
  });
  const served = await servedUntil(bystander, () => ended !== undefined);
  await building;
  expect(served).toBeGreaterThan(0);
  expect(ended?.revision.status).toBe("BUILD_FAILED");
});

async function buildLoads(files: Record<string, string>) {
  return build("loads", await pushRepository(uniqueName("loads"), files));
}

async function create(deployment: string, graph: string, as = {}): Promise<Run> {
  const thread = await request<Run>("POST", `/agents/${deployment}/threads`, {}, as);
  const path = `/agents/${deployment}/threads/${thread.body.thread_id}/runs`;
  const order = { assistant_id: graph, input: {}, stream_mode: "custom" };
  const made = await request<Run>("POST", path, order, as);
  expect(made.status).toBe(200);
  return made.body;
}

async function read(deployment: string, run: Run, as = {}): Promise<Run> {
  const path = `/agents/${deployment}/threads/${run.thread_id}/runs/${run.run_id}`;
  return (await request<Run>("GET", path, undefined, as)).body;
}

const isRunning = ({ status }: Run) => status === "running";
const isOver = ({ status }: Run) => status !== "pending" && status !== "running";

/** The `attempt` of the run's last `metadata` event. */
async function attemptsOf({ thread_id, run_id }: Run): Promise<number> {
  const path = `/agents/${victim}/threads/${thread_id}/runs/${run_id}/stream`;
  const { body } = await request<string>("GET", path, undefined, {
    ...headers,
    "last-event-id": "-1",
  });
  const attempts = [...body.matchAll(/"attempt":(\d+)/g)].map(([, attempt]) => Number(attempt));
  return Math.max(...attempts);
}
