// Ends a process that is over its limits.
import { readUsage } from "../processes/processes.ts";
import type { Child, Limits } from "./child.ts";

const LOOK_MS = process.platform === "linux" ? 100 : 1000;
/** A process that computes less needs no ping. */
const PING_AFTER_CPU_MS = 500;
/** Longer than any pause of a process that is well on a busy machine: what a process computes decides, not the clock. */
const PING_MS = 120_000;
const MEGABYTE = 1024 * 1024;
/** Part of the memory limit above which a process accepts no new work. */
const FULL = 0.75;

/** Returns when the process has ended. */
export async function guard(child: Child, limits: Limits): Promise<void> {
  let cpu_ms_at_answer = 0;
  let isPinging = false;
  const ping = async () => {
    isPinging = true;
    const usage = (await child.ping(PING_MS)) ? await readUsage(child.pid) : null;
    if (usage) cpu_ms_at_answer = usage.cpu_ms;
    isPinging = false;
  };
  while (child.isAlive) {
    const usage = await readUsage(child.pid);
    const computed_ms = (usage?.cpu_ms ?? 0) - cpu_ms_at_answer;
    if (!isPinging && computed_ms > PING_AFTER_CPU_MS) void ping();
    child.rss_bytes = usage?.rss_bytes ?? 0;
    child.isFull = usage !== null && usage.rss_bytes > FULL * limits.rss_bytes;
    const why = usage && overLimit(usage, cpu_ms_at_answer, limits);
    if (why) child.kill(why);
    await Promise.race([child.exited, new Promise((resolve) => setTimeout(resolve, LOOK_MS))]);
  }
}

/** Returns the limit that a process has passed, or `null`. */
export function overLimit(
  { rss_bytes, cpu_ms }: { rss_bytes: number; cpu_ms: number },
  cpu_ms_at_answer: number,
  limits: Limits,
): string | null {
  if (rss_bytes > limits.rss_bytes) {
    const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE);
    return `The ${limits.label}'s process used ${megabytes(rss_bytes)} MB of memory: it may use ${megabytes(limits.rss_bytes)} MB.`;
  }
  if (cpu_ms - cpu_ms_at_answer > limits.computes_ms) {
    return `The ${limits.label}'s process computed for ${limits.computes_ms / 1000} s without a pause.`;
  }
  return null;
}
