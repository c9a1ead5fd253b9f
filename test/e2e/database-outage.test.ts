import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiOf } from "../../bench/client.ts";
import { createDeployment, pushAgent } from "../../bench/deployments.ts";
import { kill, listFamily } from "../../local/processes/processes.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { startFaults } from "../../scripts/soak/faults.ts";
import { until } from "./support/stack.ts";

const INPUT = { messages: [{ role: "user", content: "hello" }] };

let dir: string;
let stack: Stack;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-outage-"));
  stack = await startStack({ dir, quiet: true, main: "local/entries/faulty.ts" });
}, 240_000);
afterAll(async () => {
  await stack?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Ends the processes that run agents of this stack. @returns how many there were */
async function killAgents(): Promise<number> {
  const family = await listFamily(process.pid);
  const agents = family.filter(
    ({ command }) => command.includes(dir) && command.includes("/local/process.capnp"),
  );
  for (const { pid } of agents) kill(pid, "SIGKILL");
  return agents.length;
}

test("the SDK runs an agent whose isolate ended, while D1 does not answer", async () => {
  const { base_url, api_key } = stack.info;
  const untraced = { LANGSMITH_TRACING: "false" };
  const repository = await pushAgent(stack.info.git, "outage", {}, untraced);
  const id = await createDeployment(apiOf(stack.info), "outage", repository);
  const { threads, runs } = new Client({ apiUrl: `${base_url}/agents/${id}`, apiKey: api_key });
  const { thread_id } = await threads.create();
  const run = () => runs.wait(thread_id, "echo", { input: INPUT });
  const before = (await run()) as { messages: unknown[] };
  const faults = startFaults(stack.info, 1, "D1");
  try {
    const list = () => fetch(`${base_url}/v2/deployments`, { headers: { "X-Api-Key": api_key } });
    await until(
      "The outage",
      async () => (await list()).status,
      (status) => status === 503,
    );
    expect(await killAgents()).toBeGreaterThan(0);
    const after = (await run()) as { messages: unknown[] };
    expect(after.messages.length).toBeGreaterThan(before.messages.length);
    expect((await list()).status).toBe(503);
    const found = await threads.search({ ids: [thread_id] });
    expect(found.map((thread) => thread.thread_id)).toEqual([thread_id]);
  } finally {
    await faults.stop();
  }
}, 300_000);
