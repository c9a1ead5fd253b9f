import { expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { until } from "./support/stack.ts";

const CONFIG = JSON.stringify({
  graphs: { loop: "./agent.ts:loop", grow: "./agent.ts:grow", echo: "./agent.ts:echo" },
});
const AGENT = `
export async function loop() { for (;;); }
export async function grow() {
  const kept = [];
  for (;;) {
    kept.push(new Uint8Array(128 * 1024 * 1024).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
export async function echo() { return { messages: [{ role: "assistant", content: "still here" }] }; }
`;

// Each attempt ends with its process: locally nothing else holds an agent back.
test.each(["loop", "grow"])(
  "an agent that takes all there is (%s) fails its run, and the service goes on",
  async (graph) => {
    const { id } = await deploy(graph, { "langgraph.json": CONFIG, "agent.ts": AGENT });
    const { runs, threads } = client(id);
    const { thread_id } = await threads.create();
    // Begins a moment later, so that its creation is answered before the process is blocked.
    const { run_id } = await runs.create(thread_id, graph, { input: {}, afterSeconds: 1 });
    const run = await until(
      "The end of the run",
      () => runs.get(thread_id, run_id).catch(() => null),
      (answer) => answer !== null && answer.status !== "pending" && answer.status !== "running",
      100_000,
    );
    expect(run?.status).toBe("error");
    const values = await until(
      "The service's return",
      () => runs.wait(null, "echo", { input: {} }).catch(() => null),
      (answer) => answer !== null,
    );
    expect(values).toMatchObject({ messages: [{ content: "still here" }] });
  },
  120_000,
);
