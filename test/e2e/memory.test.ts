import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, apiOf } from "../../bench/client.ts";
import { createDeployment, pushAgent } from "../../bench/deployments.ts";
import { inspect, liveHeap } from "../../bench/inspector.ts";
import { type Body, batchBody, multipartBody } from "../../bench/trace-bodies.ts";
import { workerPidOf } from "../../local/processes/kill.ts";
import { freePort } from "../../local/processes/ports.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { request } from "./support/http.ts";
import { until } from "./support/stack.ts";

/** Leaves 28 MB of the platform's 128 MB for buffers. A process beyond it ends. */
const V8_FLAGS = "--max-heap-size=100";
/** For the isolate of an agent: a state of the greatest size is in four buffers at most, which are beside the heap. */
const AGENT_V8_FLAGS = "--max-heap-size=80";
/** Just below the limit of a state. */
const LARGEST_CHARACTERS = 9.8 * 1024 * 1024;
const RUNS_PER_BODY = 1000;
const RUN_BYTES = 20_000;
const CLIENTS = 12;
const THREADS = 10;
const STATE_CHARACTERS = 900_000;
const READS = 9;

let dir: string;
let inspector_port: number;
let stack: Stack;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-memory-"));
  process.env.MINIFLARE_WORKERD_V8_FLAGS = V8_FLAGS;
  process.env.AGENTS_V8_FLAGS = AGENT_V8_FLAGS;
  try {
    inspector_port = await freePort();
    stack = await startStack({ dir, quiet: true, inspector_port });
  } finally {
    delete process.env.MINIFLARE_WORKERD_V8_FLAGS;
    delete process.env.AGENTS_V8_FLAGS;
  }
});

afterAll(async () => {
  await stack?.stop();
  await rm(dir, { recursive: true, force: true });
});

const inputOf = (content: string) => ({
  assistant_id: "echo",
  input: { messages: [{ role: "user", content }] },
});

/** Returns the paths of the runs of threads whose states are large. */
async function createThreads(client: Api, name: string): Promise<string[]> {
  const untraced = { LANGSMITH_TRACING: "false" };
  const repository = await pushAgent(stack.info.git, name, {}, untraced);
  const agent = `/agents/${await createDeployment(client, name, repository)}`;
  const paths: string[] = [];
  for (let n = 0; n < THREADS; n++) {
    const { thread_id = "" } = await client.json("POST", `${agent}/threads`, {});
    const path = `${agent}/threads/${thread_id}/runs`;
    const text = randomBytes(STATE_CHARACTERS / 2).toString("hex");
    await (await client.call("POST", `${path}/wait`, inputOf(text))).text();
    paths.push(path);
  }
  return paths;
}

test("a run under way holds no state in the isolate of its thread", async () => {
  const client = apiOf(stack.info);
  const paths = await createThreads(client, "states");
  const inspector = await inspect(inspector_port);
  const inUse = async () => {
    const { buffers_mb, used_mb } = await liveHeap(inspector);
    return buffers_mb + used_mb;
  };
  const limit_mb = (await inUse()) + (THREADS * STATE_CHARACTERS) / 2 / 1e6;
  const runs = await Promise.all(
    paths.map(async (path) => {
      const { run_id = "" } = await client.json("POST", path, inputOf("print 300"));
      return `${path}/${run_id}`;
    }),
  );
  // The isolate writes the input's checkpoint once it has the state.
  for (const path of paths) {
    const read = async () => {
      const { values } = await client.json("GET", path.replace(/runs$/, "state"));
      return (values as unknown as { messages: { content: string }[] }).messages.at(-1)?.content;
    };
    await until("The isolate has the state", read, (content) => content === "print 300");
  }
  const statuses = () =>
    Promise.all(runs.map(async (run) => (await client.json("GET", run)).status));
  const areUnderWay = (found: unknown[]) => found.every((status) => status === "running");
  await until("The isolate holds no states", inUse, (mb) => mb < limit_mb);
  expect(await statuses()).toSatisfy(areUnderWay);
  inspector.close();
  await Promise.all(runs.map((run) => client.call("POST", `${run}/cancel`)));
}, 240_000);

test.each(["messages", "wide"])(
  "a run on a state at the limit fits the isolate of its agent: %s",
  async (shape) => {
    const client = apiOf(stack.info);
    const repository = await pushAgent(stack.info.git, `limit-${shape}`);
    const agent = `/agents/${await createDeployment(client, `limit-${shape}`, repository)}`;
    const { thread_id = "" } = await client.json("POST", `${agent}/threads`, {});
    const path = `${agent}/threads/${thread_id}/runs`;
    const fill = { shape, characters: LARGEST_CHARACTERS };
    for (const input of [
      { left: 1, fill, grows: false },
      { left: 3, fill: null, grows: false },
      { left: 3, fill: null, grows: shape === "messages" },
    ]) {
      const body = { assistant_id: "large", input, stream_mode: ["values"] };
      const { run_id = "" } = await client.json("POST", path, body);
      await (await client.call("GET", `${path}/${run_id}/join`)).text();
      const run = await client.json("GET", `${path}/${run_id}`);
      expect(run).toMatchObject({ status: "success" });
      const events = await (await client.call("GET", `${path}/${run_id}/stream`)).text();
      // A lost isolate is called again: `attempt` counts calls.
      expect(events.match(/^event: metadata$/gm), await lossesOf(run_id)).toHaveLength(1);
    }
    // Together they are beyond the heap.
    for (let reads = 0; reads < READS; reads++) {
      const state = await (await client.call("GET", path.replace(/runs$/, "state"))).text();
      expect(state.length).toBeGreaterThan(LARGEST_CHARACTERS);
    }
  },
  300_000,
);

test("many clients that send 20 MB at once are served in the memory of one isolate", async () => {
  const pid = await workerPidOf(dir);
  const bodies = Array.from({ length: CLIENTS }, (_, n) =>
    (n % 2 === 0 ? batchBody : multipartBody)("memory", RUNS_PER_BODY, RUN_BYTES),
  );
  await seeEndedConnections();
  await Promise.all(bodies.map(sendUntilStored));
  const [project] = await api<{ id: string }[]>("GET", "/api/v1/sessions?name=memory");
  const stats = await api("POST", "/api/v1/runs/stats", { session: [project?.id] });
  expect(stats).toMatchObject({ run_count: CLIENTS * RUNS_PER_BODY });
  expect(await workerPidOf(dir)).toBe(pid);
}, 300_000);

test("states that many clients read at once, and runs on them, are served beside large bodies", async () => {
  const client = apiOf(stack.info);
  const pid = await workerPidOf(dir);
  const paths = await createThreads(client, "readers");
  const bodies = Array.from({ length: CLIENTS / 2 }, () =>
    batchBody("beside", RUNS_PER_BODY, RUN_BYTES),
  );
  const reads = paths.flatMap((path) => {
    const thread = path.replace(/\/runs$/, "");
    const state: [string] = [`${thread}/state`];
    const history: [string, object] = [`${thread}/history`, { limit: 2 }];
    return [state, state, history];
  });
  await seeEndedConnections();
  await Promise.all([
    ...bodies.map(sendUntilStored),
    ...reads.map(async ([path, body]) => {
      const text = await sendUntilServed(path, body);
      expect(text.length).toBeGreaterThan(STATE_CHARACTERS);
    }),
    ...paths.map(async (path) => {
      expect(await sendUntilServed(`${path}/wait`, inputOf("again"))).not.toContain("__error__");
    }),
  ]);
  expect(await workerPidOf(dir)).toBe(pid);
}, 300_000);

/**
 * The front may end idle connections while bodies are built, which takes seconds: `fetch` would send on them. The first
 * turn of the event loop may have read its sockets already.
 */
async function seeEndedConnections(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Returns the lines of the log about lost attempts at a run. */
async function lossesOf(run_id: string): Promise<string> {
  const lines = (await readFile(join(dir, "worker.log"), "utf8")).split("\n");
  const isLoss = (line: string) => line.includes("attempt_lost") && line.includes(run_id);
  return lines.filter((line) => isLoss(line) || line.includes("process_ended")).join("\n");
}

/** Sends a request again for as long as it is refused for the time being, and returns the text of its answer. */
async function sendUntilServed(path: string, body?: object): Promise<string> {
  for (;;) {
    const headers = { "X-Api-Key": stack.info.api_key, "Content-Type": "application/json" };
    const response = await send(path, {
      headers,
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === 200) return text;
    expect(response.status, text).toBe(503);
    await pauseFor(response);
  }
}

/** A lost connection is explained by the end of the log. */
async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${stack.info.base_url}${path}`, init);
  } catch (error) {
    const lines = (await readFile(join(dir, "worker.log"), "utf8")).trim().split("\n");
    const log = lines.slice(-20).join("\n");
    const why = error instanceof Error ? `${error.message} (${error.cause})` : error;
    const text = `${path}: ${why}; Worker ${await workerPidOf(dir)}\n${log}`;
    throw new Error(text, { cause: error });
  }
}

async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { "x-api-key": stack.info.api_key, "x-tenant-id": "" };
  return (await request<T>(method, stack.info.base_url + path, body, headers)).body;
}

async function sendUntilStored({ path, type, bytes }: Body): Promise<void> {
  for (;;) {
    const headers = { "X-Api-Key": stack.info.api_key, "Content-Type": type };
    const response = await send(path, { method: "POST", headers, body: bytes });
    const text = await response.text();
    if (response.status === 202) return;
    expect(response.status, text).toBe(503);
    await pauseFor(response);
  }
}

async function pauseFor(response: Response): Promise<void> {
  const seconds = Number(response.headers.get("Retry-After"));
  expect(seconds).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
