// `npm run soak:strangers`: two honest tenants beside strangers and a hostile tenant. Strangers send incomplete and
// slow requests and wrong keys. The hostile tenant reads no stream, sends bombs, names servers that never answer, and
// its runs take processors and memory. Exit 1 when an honest call fails or takes too long, something acknowledged is
// lost, or memory grows.
import { cp, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createWorkspace } from "../local/create-workspace.ts";
import { type StackInfo, startStack } from "../local/stack.ts";
import { readOptions } from "./options.ts";
import { deployFolder } from "./soak/agent.ts";
import { randomOf } from "./soak/random.ts";
import { pause } from "./soak/server.ts";
import { startBurners } from "./soak/strangers/burners.ts";
import { startLoad } from "./soak/strangers/load.ts";
import { medianOf } from "./soak/strangers/median.ts";
import { memoryFindings, readMemory, type Sample, toMegabytes } from "./soak/strangers/memory.ts";
import { Tenant } from "./soak/strangers/tenant.ts";

const SHOWN = 20;
const SAMPLE_MS = 5_000;
const PRINT_MS = 30_000;
const BASE_ROUNDS = 20;
/** An honest call may take at most so many times as long as a call beside processes that only compute. */
const MAX_RATIO = 6;
const AGENT = join(import.meta.dirname, "soak/strangers/agent");

const { values } = readOptions({
  seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  minutes: { type: "string", default: "10" },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);
console.log(`Seed ${seed}; the same again: npm run soak:strangers -- --seed ${seed}`);
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "soak-strangers");
await rm(dir, { recursive: true, force: true });
const stack = await startStack({ dir, quiet: true });
try {
  const deploy = async (info: StackInfo) => ({
    info,
    deployment_id: await deployFolder(info, "stranger", (to) => cp(AGENT, to, { recursive: true })),
  });
  const places = [];
  for (const name of ["first", "second", "hostile"]) {
    places.push(await deploy({ ...stack.info, ...(await createWorkspace(dir, name)) }));
  }
  const hostile = places.pop();
  if (hostile === undefined) throw new Error("The hostile tenant is missing");
  const tenants = places.map(({ info, deployment_id }) => new Tenant(info, deployment_id));
  const beside_burners = await besideBurners(tenants);

  const stop = new AbortController();
  const { signal } = stop;
  const load = startLoad({ ...hostile, random: randomOf(seed), signal });
  const samples: Sample[] = [];
  const watching = watch(tenants, samples, signal);
  const honest = tenants.map(async (tenant) => {
    while (!signal.aborted) await tenant.round();
  });
  await pause(minutes * 60_000);
  stop.abort();
  await Promise.all([...honest, watching]);
  const ratio = medianOf(tenants.flatMap(({ calls }) => calls)) / beside_burners;
  const findings = [
    ...(await Promise.all(tenants.map((tenant) => tenant.check()))).flat(),
    ...memoryFindings(samples),
    ...(ratio > MAX_RATIO ? [`honest calls took ${ratio.toFixed(1)} times as long`] : []),
  ];
  for (const finding of findings.slice(0, SHOWN)) console.log(finding);
  if (findings.length > SHOWN) console.log(`... and ${findings.length - SHOWN} more`);
  console.log(JSON.stringify(load.counts, null, 2));
  console.log(
    `Honest: ${tenants.map(({ size }) => size).join(", ")}; calls took ${ratio.toFixed(2)} times of calls beside ${availableParallelism()} computing processes (${Math.round(beside_burners)} ms)`,
  );
  console.log(`${findings.length} findings, seed ${seed}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  // A request of the load can wait for long.
  setTimeout(() => process.exit(), 5_000).unref();
}

/** Returns the median time of a call while each processor has a process that only computes. */
async function besideBurners(tenants: Tenant[]): Promise<number> {
  const stopBurners = startBurners();
  try {
    await Promise.all(tenants.map((tenant) => tenant.round()));
    for (const { calls } of tenants) calls.length = 0;
    for (let n = 0; n < BASE_ROUNDS; n++)
      await Promise.all(tenants.map((tenant) => tenant.round()));
    return medianOf(tenants.flatMap(({ calls }) => calls.splice(0)));
  } finally {
    stopBurners();
  }
}

async function watch(tenants: Tenant[], samples: Sample[], signal: AbortSignal): Promise<void> {
  const started = performance.now();
  let printed = 0;
  while (!signal.aborted) {
    const sample = await readMemory(dir);
    samples.push(sample);
    const ms = performance.now() - started;
    if (ms - printed >= PRINT_MS) {
      printed = ms;
      const { worker_bytes, listener_bytes } = sample;
      const calls = tenants.flatMap((tenant) => tenant.calls.slice(-200));
      const findings = tenants.reduce((sum, tenant) => sum + tenant.findings.length, 0);
      console.log(
        `${Math.round(ms / 1000)} s: main process ${toMegabytes(worker_bytes)} MB, listener ${toMegabytes(listener_bytes)} MB; honest calls ${Math.round(medianOf(calls))} ms, ${findings} failed`,
      );
    }
    await pause(SAMPLE_MS);
  }
}
