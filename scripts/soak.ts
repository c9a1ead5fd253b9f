// `npm run soak`: a thousand threads and long queues while readers come and go and the Worker is killed. Exit 1 when a
// run was lost, doubled or out of order, or a reader missed something.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { readOptions } from "./options.ts";
import { deploySoakAgent } from "./soak/agent.ts";
import { startFaults } from "./soak/faults.ts";
import { Server } from "./soak/server.ts";
import { type Plan, soak } from "./soak/soak.ts";

const SHOWN = 20;
/** Share of the calls of D1 and R2 that fail with `--faults`. */
const FAULTY_SHARE = 0.1;

const { values } = readOptions({
  seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  threads: { type: "string", default: "1000" },
  queues: { type: "string", default: "20" },
  runs: { type: "string", default: "50" },
  faults: { type: "boolean", default: false },
});
const plan: Plan = {
  seed: Number(values.seed),
  threads: Number(values.threads),
  queues: Number(values.queues),
  runs: Number(values.runs),
};
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "soak");
await rm(dir, { recursive: true, force: true });
console.log(
  `Seed ${plan.seed}; the same again with the same options: npm run soak -- --seed ${plan.seed}`,
);
const options = values.faults ? { main: "local/entries/faulty.ts" } : {};
const stack = await startStack({ dir, quiet: true, ...options });
try {
  const { base_url, api_key } = stack.info;
  const deployment_id = await deploySoakAgent(stack.info);
  const server = new Server(`${base_url}/agents/${deployment_id}`, api_key, {
    hasFaults: values.faults,
  });
  const faults = values.faults ? startFaults(stack.info, FAULTY_SHARE) : null;
  const print = (line: string) => console.log(line);
  const { findings, summary } = await soak(plan, server, stack.killWorker, print, faults);
  for (const finding of findings.slice(0, SHOWN)) console.log(finding);
  if (findings.length > SHOWN) console.log(`... and ${findings.length - SHOWN} more`);
  console.log(`${summary}\n${findings.length} findings, seed ${plan.seed}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  // A reader can wait forever for a run that never ends.
  setTimeout(() => process.exit(), 5_000).unref();
}
