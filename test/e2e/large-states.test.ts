// Runs with many steps on large states. Their memory is printed, and no attempt is lost for it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { listAgents } from "../../local/processes/processes.ts";
import { request } from "./support/http.ts";
import { killAgents, stack } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

const MIB = 1024 * 1024;
const ALL_MODES = ["values", "updates", "tasks", "checkpoints", "debug", "messages-tuple"];
const MINUTES = 60_000;

let agent: string;
beforeAll(async () => {
  agent = `/agents/${await deployTestAgent()}`;
});

let base_mib = 0;
let peak_mib = 0;
let timer: ReturnType<typeof setInterval>;
/** The process of each test is new, and has loaded the agent. */
beforeEach(async () => {
  await killAgents();
  await run(await newThread(), { graph: "loops", input: { n: 0, steps: 1 } });
  base_mib = await largestMib();
  peak_mib = base_mib;
  timer = setInterval(async () => {
    peak_mib = Math.max(peak_mib, await largestMib());
  }, 200);
});
afterEach(() => {
  clearInterval(timer);
  const [base, peak] = [base_mib, peak_mib].map(Math.round);
  process.stderr.write(`large states: an agent's process had ${base} MiB, at most ${peak} MiB\n`);
});

/** Leaves out the agents of other lanes. */
async function agentsOfLane() {
  const agents = await listAgents(process.ppid);
  return agents.filter(({ command }) => command.includes(stack.dir));
}

async function largestMib(): Promise<number> {
  const agents = await agentsOfLane();
  return Math.max(...agents.map(({ rss_bytes }) => rss_bytes / MIB));
}

type Order = { graph: string; input: object; more?: object };

async function newThread(): Promise<string> {
  const { body } = await request<{ thread_id: string }>("POST", `${agent}/threads`, {});
  return `${agent}/threads/${body.thread_id}`;
}

/** Runs a graph to its end. Returns the text of all its events. */
async function run(thread: string, { graph, input, more }: Order): Promise<string> {
  const body = { assistant_id: graph, input, config: { recursion_limit: 400 }, ...more };
  const made = await request<{ run_id: string }>("POST", `${thread}/runs`, body);
  expect(made.status).toBe(200);
  const path = `${thread}/runs/${made.body.run_id}`;
  await request("GET", `${path}/join`);
  const { body: ended } = await request<{ status: string }>("GET", path);
  expect(ended.status).toBe("success");
  const headers = { "last-event-id": "-1" };
  return (await request<string>("GET", `${path}/stream`, undefined, headers)).body;
}

/** Returns the lines of the log about processes that ended, and why. */
async function losses(): Promise<string> {
  const lines = (await readFile(join(stack.dir, "worker.log"), "utf8")).split("\n");
  return lines
    .filter((line) => /attempt_lost|process_ended|process used|computed for/.test(line))
    .slice(-10)
    .join("\n");
}

function count(events: string, name: string): number {
  return events.match(new RegExp(`^event: ${name}\\r?$`, "gm"))?.length ?? 0;
}

test.each([
  ["async", 20, 5, ["values"]],
  ["sync", 20, 5, ["values"]],
  ["exit", 20, 5, ["values"]],
  ["async", 1, 40, ALL_MODES],
  ["exit", 1, 40, ALL_MODES],
])(
  "with durability %s, a document of %i MiB stays for %i steps in %j",
  async (durability, mib, steps, stream_mode) => {
    const input = { n: 0, steps, mib };
    const more = { durability, stream_mode };
    const thread = await newThread();
    const events = await run(thread, { graph: "loops", input, more });
    // A lost isolate is called again: each attempt has such an event.
    const counts = [count(events, "metadata"), count(events, "values")];
    expect(counts, await losses()).toEqual([1, steps + 1]);
    const state = await request<{ values: object }>("GET", `${thread}/state`);
    const document = "x".repeat(mib * MIB);
    expect(state.body.values).toEqual({ n: steps, steps, mib: null, document });
  },
  10 * MINUTES,
);

test(
  "40 messages with pictures of 4 MB together are kept, in all modes",
  async () => {
    const input = { n: 0, steps: 40, characters: 100_000 };
    const thread = await newThread();
    const events = await run(thread, {
      graph: "pictures",
      input,
      more: { stream_mode: ALL_MODES },
    });
    expect([count(events, "metadata"), count(events, "values")]).toEqual([1, 41]);
    const state = await request<{ values: { messages: object[] } }>("GET", `${thread}/state`);
    expect(state.body.values.messages).toHaveLength(40);
    expect(JSON.stringify(state.body.values).length).toBeGreaterThan(4_000_000);
  },
  10 * MINUTES,
);

test(
  "300 steps on a document of 1 MiB do not wait for a reader that reads nothing",
  async () => {
    const document = "x".repeat(MIB);
    const thread = await newThread();
    const body = {
      ...{ assistant_id: "loops", input: { n: 0, steps: 300, document } },
      ...{ config: { recursion_limit: 400 }, stream_mode: ["values"] },
    };
    const unread = await fetch(`${stack.base_url}${thread}/runs/stream`, {
      method: "POST",
      headers: { "X-Api-Key": stack.api_key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(unread.status).toBe(200);
    const run_id = unread.headers.get("Content-Location")?.split("/").at(-1);
    const { body: values } = await request("GET", `${thread}/runs/${run_id}/join`);
    expect(values).toEqual({ n: 300, steps: 300, document });
    await unread.body?.cancel();
  },
  10 * MINUTES,
);
