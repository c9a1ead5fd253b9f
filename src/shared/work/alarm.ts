import { log } from "../log.ts";
import { count } from "../metrics/metrics.ts";
import { backoff } from "./backoff.ts";

const PAUSE = { base_ms: 10_000, max_ms: 15 * 60 * 1000 };
/** Stored, because the object leaves the memory between two alarms. */
const FAILURES = "alarm_failures";

/**
 * Does the work of an alarm, and sets the alarm again when it fails. The platform repeats a failed alarm six times
 * within about two minutes, and then never again.
 *
 * @returns whether the work succeeded
 */
export async function runAlarm(
  storage: DurableObjectStorage,
  object: string,
  work: () => void | Promise<void>,
): Promise<boolean> {
  try {
    await work();
  } catch (error) {
    const failures = (storage.kv.get<number>(FAILURES) ?? 0) + 1;
    log.error("alarm_failed", error, { object, failures });
    count("heddle_alarms_failed_total", { object });
    storage.kv.put(FAILURES, failures);
    await setEarlierAlarm(storage, Date.now() + pauseAfter(failures));
    return false;
  }
  if (storage.kv.get(FAILURES) !== undefined) storage.kv.delete(FAILURES);
  return true;
}

/** Returns random milliseconds from half of the bound to the bound: an outage ends for many objects at once. */
function pauseAfter(failures: number): number {
  return backoff(PAUSE, failures, (1 + Math.random()) / 2);
}

/** Sets the alarm unless it is due earlier already. */
export async function setEarlierAlarm(storage: DurableObjectStorage, at: number): Promise<void> {
  const current = await storage.getAlarm();
  if (current === null || at < current) await storage.setAlarm(at);
}
