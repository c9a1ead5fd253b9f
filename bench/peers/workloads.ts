import { percentile, round, sample, time } from "../measure.ts";
import type { Peer } from "./peer.ts";

/**
 * `ms`: the time that the title of the workload names. `cpu_ms`: processor time of all processes of the peer, per run.
 */
export type Measurement = { ms: number; cpu_ms: number };

type Workload = {
  title: string;
  /** Number of runs, by which the processor time is divided. */
  runs: number;
  measure: (peer: Peer, key: string) => Promise<number>;
};

const QUEUED = 50;
const MANY = { keys: 20, runs: 5 };
const NEW_KEYS = 1000;
const AT_ONCE = 50;
const SINGLE = 200;
const STEPS = 20;
const ROUNDS_OF_STEPS = 20;

export const WORKLOADS: Record<string, Workload> = {
  sequential: {
    title: "a run after another on one key, ms each (p50)",
    runs: SINGLE,
    measure: async (peer, key) =>
      percentile(await sample(SINGLE, async () => void (await peer.run(key, 1))), 0.5),
  },
  steps: {
    title: "20 steps in one run, ms a step (p50)",
    runs: ROUNDS_OF_STEPS,
    measure: async (peer, key) => {
      const times = await sample(ROUNDS_OF_STEPS, async () => void (await peer.run(key, STEPS)));
      return percentile(times, 0.5) / STEPS;
    },
  },
  queue: {
    title: "50 runs at once on one key, ms in all",
    runs: QUEUED,
    measure: (peer, key) =>
      time(() => Promise.all(Array.from({ length: QUEUED }, () => peer.run(key, 1)))),
  },
  threads: {
    title: "20 keys with 5 runs each, at once, ms in all",
    runs: MANY.keys * MANY.runs,
    measure: (peer, key) =>
      time(() =>
        Promise.all(
          Array.from({ length: MANY.keys * MANY.runs }, (_, n) =>
            peer.run(`${key}-${n % MANY.keys}`, 1),
          ),
        ),
      ),
  },
  keys: {
    title: "1,000 new keys, 50 at once, ms in all",
    runs: NEW_KEYS,
    measure: (peer, key) => {
      let next = 0;
      const work = async () => {
        for (let n = next++; n < NEW_KEYS; n = next++) await peer.run(`${key}-${n}`, 1);
      };
      return time(() => Promise.all(Array.from({ length: AT_ONCE }, work)));
    },
  },
};

/** Time after the last answer in which the peer's processor time still counts. */
const AFTERWARDS_MS = 700;

export async function measure(
  name: string,
  peer: Peer,
  round_number: number,
): Promise<Measurement> {
  const workload = WORKLOADS[name];
  if (!workload) throw new Error(`${name} is none of ${Object.keys(WORKLOADS).join(", ")}`);
  const key = `${name}-${round_number}`;
  await peer.run(`${key}-warm`, 1);
  const before = await peer.server.cpuMs();
  const ms = await workload.measure(peer, key);
  await new Promise((resolve) => setTimeout(resolve, AFTERWARDS_MS));
  const cpu_ms = ((await peer.server.cpuMs()) - before) / workload.runs;
  return { ms: round(ms), cpu_ms: round(cpu_ms) };
}
