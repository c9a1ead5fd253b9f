import { createServer, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack, until } from "./support/stack.ts";

const CONFIG = JSON.stringify({
  graphs: { loop: "./agent.ts:loop", grow: "./agent.ts:grow", echo: "./agent.ts:echo" },
});
const AGENT = `
export async function loop({ gate }) {
  await fetch(gate);
  for (;;);
}
export async function grow({ gate }) {
  await fetch(gate);
  const kept = [];
  for (;;) {
    kept.push(new Uint8Array(128 * 1024 * 1024).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
export async function echo() { return { messages: [{ role: "assistant", content: "still here" }] }; }
`;
/** The Worker dies once for each attempt at the run, and a busy machine is slow to start it again. */
const PATIENCE_MS = 600_000;

/** Holds the agent until the run's creation was answered: then the process is blocked. */
let gate: Server;
let isOpen = false;
const held: ServerResponse[] = [];

beforeAll(async () => {
  gate = createServer((_, response) => {
    if (isOpen) response.end();
    else held.push(response);
  });
  await new Promise<void>((resolve) => gate.listen(stack.agent_port, "127.0.0.1", resolve));
});

afterAll(() => {
  gate.closeAllConnections();
  gate.close();
});

// Each attempt ends with its process: locally nothing else holds an agent back.
test.each(["loop", "grow"])(
  "an agent that takes all there is (%s) fails its run, and the service goes on",
  async (graph) => {
    const { id } = await deploy(graph, { "langgraph.json": CONFIG, "agent.ts": AGENT });
    const { runs, threads } = client(id);
    const { thread_id } = await threads.create();
    isOpen = false;
    const input = { gate: `http://127.0.0.1:${stack.agent_port}` };
    const { run_id } = await runs.create(thread_id, graph, { input });
    isOpen = true;
    for (const response of held.splice(0)) response.end();
    const run = await until(
      "The end of the run",
      () => runs.get(thread_id, run_id).catch(() => null),
      (answer) => answer !== null && answer.status !== "pending" && answer.status !== "running",
      PATIENCE_MS,
    );
    expect(run?.status).toBe("error");
    const values = await until(
      "The service's return",
      () => runs.wait(null, "echo", { input: {} }).catch(() => null),
      (answer) => answer !== null,
      PATIENCE_MS,
    );
    expect(values).toMatchObject({ messages: [{ content: "still here" }] });
  },
  2 * PATIENCE_MS,
);
