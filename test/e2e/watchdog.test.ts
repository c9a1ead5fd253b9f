import { expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { until } from "./support/stack.ts";

const CONFIG = JSON.stringify({
  graphs: { loop: "./agent.ts:loop", echo: "./agent.ts:echo" },
});
const AGENT = `
export async function loop() { for (;;); }
export async function echo() { return { messages: [{ role: "assistant", content: "still here" }] }; }
`;

test("an agent that loops for ever fails its run, and the service goes on", async () => {
  const { id } = await deploy("loop", { "langgraph.json": CONFIG, "agent.ts": AGENT });
  const { runs, threads } = client(id);
  const { thread_id } = await threads.create();
  // Begins a moment later, so that its creation is answered before the process is blocked.
  const order = { input: {}, afterSeconds: 1 };
  const { run_id } = await runs.create(thread_id, "loop", order);
  // Each attempt blocks the whole process until the watchdog ends it.
  const run = await until(
    "The end of the run",
    () => runs.get(thread_id, run_id).catch(() => null),
    (answer) => answer !== null && answer.status !== "pending" && answer.status !== "running",
    100_000,
  );
  expect(run?.status).toBe("error");
  const values = await runs.wait(null, "echo", { input: {} });
  expect(values).toMatchObject({ messages: [{ content: "still here" }] });
}, 120_000);
