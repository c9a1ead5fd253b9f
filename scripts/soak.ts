// `npm run soak`: a thousand threads and long queues while readers come and go and the Worker is killed. Exit 1 when a run was lost, doubled or out of order, or a reader missed something.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "./local/stack.ts";
import { readOptions } from "./options.ts";
import { deploySoakAgent } from "./soak/agent.ts";
import { Server } from "./soak/server.ts";
import { type Plan, soak } from "./soak/soak.ts";

const SHOWN = 20;

const { values } = readOptions({
  seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  threads: { type: "string", default: "1000" },
  queues: { type: "string", default: "20" },
  runs: { type: "string", default: "50" },
});
const plan: Plan = {
  seed: Number(values.seed),
  threads: Number(values.threads),
  queues: Number(values.queues),
  runs: Number(values.runs),
};
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "soak");
await rm(dir, { recursive: true, force: true });
console.log(`Seed ${plan.seed}; the same again: npm run soak -- --seed ${plan.seed}`);
const stack = await startStack({ dir, quiet: true });
try {
  const server = new Server(stack.info, await deploySoakAgent(stack.info));
  const print = (line: string) => console.log(line);
  const { findings, summary } = await soak(plan, server, stack.killWorker, print);
  for (const finding of findings.slice(0, SHOWN)) console.log(finding);
  if (findings.length > SHOWN) console.log(`... and ${findings.length - SHOWN} more`);
  console.log(`${summary}\n${findings.length} findings, seed ${plan.seed}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  // A reader can wait forever for a run that never ends.
  setTimeout(() => process.exit(), 5_000).unref();
}
