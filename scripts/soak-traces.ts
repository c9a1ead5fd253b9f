// `npm run soak:traces`: seals, compacts, moves to R2, deletes and expires the traces of two old days, and kills the
// Worker at eighty moments of this. Exit 1 when a run is lost, doubled, stale or back, or an object in R2 belongs to
// nothing.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { readOptions } from "./options.ts";
import { OldDays } from "./soak/old-days.ts";
import { randomOf } from "./soak/random.ts";
import { pause, Server } from "./soak/server.ts";

const DOWN_MS = 60_000;
/** Maximum time after the restart for answers of the killed Worker. */
const AFTER_MS = 2_000;
const CHECK_EVERY = 10;
/** Longest time in milliseconds from the start of a step to the kill: about as long as the step takes. */
const STEPS = { seal: 2_500, ring: 400, expire: 150, delete: 150 };
const WEIGHTS = { seal: 2, ring: 4, expire: 4, delete: 4 };

const { values } = readOptions({
  seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  kills: { type: "string", default: "80" },
});
const seed = Number(values.seed);
const kills = Number(values.kills);
console.log(`Seed ${seed}; the same again: npm run soak:traces -- --seed ${seed}`);
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "soak-traces");
await rm(dir, { recursive: true, force: true });
const stack = await startStack({ dir, quiet: true, main: "local/entries/aged.ts" });
try {
  const random = randomOf(seed);
  const server = new Server(stack.info.base_url, stack.info.api_key);
  const days = await OldDays.open(server, stack.info, random.fork());
  const done = { seal: 0, ring: 0, expire: 0, delete: 0 };
  for (let n = 1; n <= kills; n++) {
    await days.ingest();
    const step = random.pick(WEIGHTS);
    done[step] += 1;
    const work = days[step]();
    await pause(random.upTo(STEPS[step]));
    server.expectFailures(DOWN_MS);
    await stack.killWorker();
    await server.call("GET", "/ok");
    server.expectFailures(AFTER_MS);
    await work;
    if (n % CHECK_EVERY > 0) continue;
    await days.check(`after ${n} kills`);
    console.log(`${n} kills, ${days.size} runs, ${days.findings.length} findings`);
  }
  await days.settle();
  const findings = [...days.findings, ...server.broken];
  for (const finding of findings) console.log(finding);
  console.log(
    `Killed in ${done.seal} exports, ${done.ring} alarms, ${done.expire} expiries, ${done.delete} deletions; ${days.size} runs`,
  );
  console.log(`${findings.length} findings, seed ${seed}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
}
