import { workerPidOf } from "../../../local/processes/kill.ts";
import { readProcesses } from "../../../local/processes/processes.ts";
import { medianOf } from "./median.ts";

export type Sample = { pid: number; worker_bytes: number; listener_bytes: number };

/** Reads the memory of the main process, and of the process above it, which listens. */
export async function readMemory(dir: string): Promise<Sample> {
  const pid = await workerPidOf(dir);
  const [worker] = await readProcesses([pid]);
  const [listener] = worker === undefined ? [] : await readProcesses([worker.parent_pid]);
  return { pid, worker_bytes: worker?.rss_bytes ?? 0, listener_bytes: listener?.rss_bytes ?? 0 };
}

const MEGABYTE = 1024 * 1024;
/** Maximum growth from the second fifth of the samples to the last one. Caches fill in the first fifth. */
const MAX_GROWTH = 1.25;

export function memoryFindings(samples: readonly Sample[]): string[] {
  const fifth = Math.floor(samples.length / 5);
  const findings: string[] = [];
  if (new Set(samples.map(({ pid }) => pid)).size > 1) findings.push("the main process ended");
  for (const name of ["worker_bytes", "listener_bytes"] as const) {
    const sizes = samples.map((sample) => sample[name]);
    const early = medianOf(sizes.slice(fifth, 2 * fifth));
    const late = medianOf(sizes.slice(-fifth));
    if (late > early * MAX_GROWTH) {
      findings.push(`${name} grew from ${toMegabytes(early)} to ${toMegabytes(late)} MB`);
    }
  }
  return findings;
}

export function toMegabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE);
}
