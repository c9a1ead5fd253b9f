import { round } from "../measure.ts";
import type { Peer } from "./peer.ts";

const RUNS = 50;
const KILL_AFTER = 20;
/** A lease of OpenWorkflow ends after 30 s. */
const PATIENCE_MS = 40_000;
const LOOK_MS = 5;

/** `next_step_ms`, `all_ms`: time from the restart to the next step and to the last one; `null` when it never came. */
export type Crash = {
  next_step_ms: number | null;
  all_ms: number | null;
  lost: number;
  doubled: number;
};

/**
 * Enqueues fifty runs on one key, sends SIGKILL to all processes after the twentieth step, and starts the peer again.
 */
export async function crash(peer: Peer, key: string): Promise<Crash> {
  for (let n = 0; n < RUNS; n++) await peer.enqueue(key, 1);
  const before = await readUntil(peer, key, KILL_AFTER);
  await peer.server.kill();
  const started = performance.now();
  await peer.start();
  const next = await readUntil(peer, key, Math.min(before + 1, RUNS));
  const next_step_ms = next > before ? round(performance.now() - started) : null;
  const steps = next_step_ms === null ? next : await readUntil(peer, key, RUNS);
  const all_ms = steps >= RUNS ? round(performance.now() - started) : null;
  return {
    next_step_ms,
    all_ms,
    lost: Math.max(0, RUNS - steps),
    doubled: Math.max(0, steps - RUNS),
  };
}

/** Returns the number of steps once it reaches `wanted`, or after `PATIENCE_MS` without progress. */
async function readUntil(peer: Peer, key: string, wanted: number): Promise<number> {
  let [last, deadline] = [0, performance.now() + PATIENCE_MS];
  for (;;) {
    const steps = await peer.steps(key);
    if (steps >= wanted || performance.now() > deadline) return steps;
    if (steps > last) [last, deadline] = [steps, performance.now() + PATIENCE_MS];
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
