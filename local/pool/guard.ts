// Ends a process that is over its limits.
import { setImmediate, setTimeout } from "node:timers/promises";
import { readUsage } from "../processes/processes.ts";
import type { Child, Limits } from "./child.ts";

const LOOK_MS = process.platform === "linux" ? 100 : 1000;
/** A process that computes less needs no ping. */
const PING_AFTER_CPU_MS = 500;
/** Longer than any pause of a healthy process on a busy machine: processor time decides, not the clock. */
const PING_MS = 120_000;
const MEGABYTE = 1024 * 1024;
/** Part of the memory limit above which a process is full. The rest holds one more isolate on a large state. */
const FULL = 0.5;

/** Kills the process when it exceeds a limit. Resolves when the process has ended. */
export async function guard(child: Child, limits: Limits): Promise<void> {
  let cpu_ms_at_answer = 0;
  /** Processor time when the unanswered ping was sent; `null` when all are answered. */
  let pinged_at_cpu_ms: number | null = null;
  const ping = async (cpu_ms: number) => {
    pinged_at_cpu_ms = cpu_ms;
    await child.ping(PING_MS);
    pinged_at_cpu_ms = null;
    cpu_ms_at_answer = (await readUsage(child.pid))?.cpu_ms ?? cpu_ms;
  };
  while (child.isAlive) {
    const usage = await readUsage(child.pid);
    // After a pause of this process, handles an answer to the ping before the usage is judged.
    await setImmediate();
    child.rss_bytes = usage?.rss_bytes ?? 0;
    child.isFull = usage !== null && usage.rss_bytes > FULL * limits.rss_bytes;
    const why = usage && overLimit(usage, pinged_at_cpu_ms, limits);
    if (why) child.kill(why);
    const cpu_ms = usage?.cpu_ms ?? 0;
    const isQuiet = cpu_ms - cpu_ms_at_answer <= PING_AFTER_CPU_MS;
    if (pinged_at_cpu_ms === null && !isQuiet) void ping(cpu_ms);
    await Promise.race([child.exited, setTimeout(LOOK_MS)]);
  }
}

/** Returns the reason to end a process, or `null`. Processor time counts only since an unanswered ping. */
export function overLimit(
  { rss_bytes, cpu_ms }: { rss_bytes: number; cpu_ms: number },
  pinged_at_cpu_ms: number | null,
  limits: Limits,
): string | null {
  if (rss_bytes > limits.rss_bytes) {
    const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE);
    return `The ${limits.label}'s process used ${megabytes(rss_bytes)} MB of memory: it may use ${megabytes(limits.rss_bytes)} MB.`;
  }
  if (pinged_at_cpu_ms !== null && cpu_ms - pinged_at_cpu_ms > limits.computes_ms) {
    return `The ${limits.label}'s process computed for ${limits.computes_ms / 1000} s without a pause.`;
  }
  return null;
}
