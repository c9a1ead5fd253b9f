// Prints what the same steps cost on Heddle, on LangGraph's development server, in one process, and on durable engines.
// Each workload is measured in turns. --only heddle,restate chooses peers, --workloads queue,crash chooses workloads.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { readOptions } from "../scripts/options.ts";
import { percentile, round } from "./measure.ts";
import { type Crash, crash } from "./peers/crash.ts";
import { developmentServer } from "./peers/development-server.ts";
import { dbos, langgraph, openworkflow, restate } from "./peers/engines.ts";
import { heddle } from "./peers/heddle.ts";
import type { Peer } from "./peers/peer.ts";
import { type Measurement, measure, WORKLOADS } from "./peers/workloads.ts";

const FOLDER = join(import.meta.dirname, "peers");
const CRASH = "crash";
const SETTLING_MS = 500;
const PEERS: Record<string, () => Promise<Peer>> = {
  heddle: () => heddle("async"),
  "heddle-sync": () => heddle("sync"),
  restate,
  dbos,
  openworkflow: () => openworkflow(1),
  "openworkflow-50": () => openworkflow(50),
  langgraph,
  "langgraph-dev": developmentServer,
};

const { values } = readOptions({
  rounds: { type: "string", default: "3" },
  only: { type: "string", default: Object.keys(PEERS).join(",") },
  workloads: { type: "string", default: [...Object.keys(WORKLOADS), CRASH].join(",") },
});
const wanted = values.workloads.split(",");
const crashes = wanted.includes(CRASH);
const workloads = wanted.filter((name) => name !== CRASH);

if (!existsSync(join(FOLDER, "node_modules"))) {
  console.error("Installs the peers ...");
  // `npm ci` refuses a lockfile without packages of other platforms, and npm writes such a one here.
  await promisify(execFile)("npm", ["install", "--no-save"], { cwd: FOLDER });
}
const peers: Peer[] = [];
try {
  for (const name of values.only.split(",")) peers.push(await started(name));
  const report = {
    workloads: await measureAll(peers),
    crash: crashes ? await crashAll(peers) : [],
  };
  console.log(JSON.stringify(report, null, 2));
} finally {
  for (const { server } of peers) await server.kill();
}

/** Starts a peer and pauses it: peers that are not measured must not use the processor. */
async function started(name: string): Promise<Peer> {
  const create = PEERS[name];
  if (!create) throw new Error(`--only ${name}: give some of ${Object.keys(PEERS).join(", ")}`);
  const peer = await create();
  await peer.start();
  await peer.server.pause();
  console.error(`${peer.name} has started`);
  return peer;
}

type Rounds = ReadonlyMap<string, Measurement[]>;

/** Measures the peers in turns, with the order reversed in each second round. */
async function measureAll(all: readonly Peer[]) {
  const rounds = new Map<string, Measurement[]>();
  for (let round_number = 1; round_number <= Number(values.rounds); round_number++) {
    const turn = round_number % 2 === 0 ? all.toReversed() : all;
    const turns = workloads.flatMap((name) => turn.map((peer) => ({ name, peer })));
    for (const { name, peer } of turns) {
      const measured = await awake(peer, () => measure(name, peer, round_number));
      const key = `${name} ${peer.name}`;
      rounds.set(key, [...(rounds.get(key) ?? []), measured]);
      console.error(`round ${round_number}, ${key}: ${JSON.stringify(measured)}`);
    }
  }
  return workloads.map((name) => compare(rounds, name, all));
}

/** Returns the medians of a workload, and the ratio of the first peer's median to that of each other peer. */
function compare(rounds: Rounds, name: string, [first, ...others]: readonly Peer[]) {
  const medianOf = (peer: Peer | undefined, value: keyof Measurement) => {
    const measured = rounds.get(`${name} ${peer?.name}`) ?? [];
    return percentile(
      measured.map((each) => each[value]),
      0.5,
    );
  };
  return {
    workload: WORKLOADS[name]?.title,
    [first?.name ?? ""]: { ms: medianOf(first, "ms"), cpu_ms: medianOf(first, "cpu_ms") },
    peers: others.map((peer) => {
      const [ms, cpu_ms] = [medianOf(peer, "ms"), medianOf(peer, "cpu_ms")];
      const ratio = round(medianOf(first, "ms") / ms);
      const ratio_of_cpu = round(medianOf(first, "cpu_ms") / cpu_ms);
      return { peer: peer.name, ms, cpu_ms, ratio, ratio_of_cpu };
    }),
  };
}

async function awake<T>(peer: Peer, work: () => Promise<T>): Promise<T> {
  await peer.server.resume();
  // A server that continues first closes connections that were idle for too long.
  await setTimeout(SETTLING_MS);
  const result = await work();
  await peer.server.pause();
  return result;
}

async function crashAll(all: readonly Peer[]) {
  const found: (Crash & { peer: string })[] = [];
  for (const peer of all) {
    found.push({ peer: peer.name, ...(await awake(peer, () => crash(peer, "crash"))) });
    console.error(JSON.stringify(found.at(-1)));
  }
  return found;
}
