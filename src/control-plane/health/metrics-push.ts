import { env, waitUntil } from "cloudflare:workers";
import { log } from "../../shared/log.ts";
import { onRecorded, REGION, recordedOwners, takeRecorded } from "../../shared/metrics/metrics.ts";
import { parseSeriesKey } from "../../shared/metrics/series.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { type MetricsBatch, metricsOf } from "./metrics-object.ts";

const INTERVAL_MS = 10_000;
/** A request that the platform ends takes its scheduled push with it. */
const GRACE_MS = 15_000;
/** An invocation writes at most 250 points to Analytics Engine. */
const MAX_SERIES = 250;
const OWNERS_AT_ONCE = 6;
/** Doubles of one point. */
const MAX_DOUBLES = 20;

let expected_until = 0;
let pushed_at = 0;
let isolate_id = "";
let sequence = 0;
/** Batches that their objects have not acknowledged. Each is sent again under its number, which the object adds once. */
const unsent = new Map<string, MetricsBatch>();

/** Ends of pushes in progress. An owner has one at a time: its object takes batches in order only. */
const busyUntil = new Map<string, number>();

/** Pushes what the isolate records, at most once in ten seconds. */
export function startMetrics(): void {
  onRecorded(schedulePush);
}

/**
 * Waits in the invocation that recorded something, so an object stays in memory up to ten seconds longer: one object
 * of an isolate at a time. A push for each invocation would cost a request each.
 */
function schedulePush(): void {
  const now = Date.now();
  if (now < expected_until) return;
  const delay_ms = Math.min(INTERVAL_MS, Math.max(0, pushed_at + INTERVAL_MS - now));
  expected_until = now + delay_ms + GRACE_MS;
  waitUntil(
    scheduler.wait(delay_ms).then(() => {
      expected_until = 0;
      return pushMetrics();
    }),
  );
}

/** Adds what the isolate recorded to the totals of its owners. A failure is left to the next push. */
export async function pushMetrics(): Promise<void> {
  pushed_at = Date.now();
  const owners = new Set([...unsent.keys(), ...recordedOwners()]);
  await mapConcurrent([...owners], OWNERS_AT_ONCE, pushTo);
}

async function pushTo(owner: string): Promise<void> {
  if (Date.now() < (busyUntil.get(owner) ?? 0)) return;
  busyUntil.set(owner, Date.now() + GRACE_MS);
  try {
    const waiting = unsent.get(owner);
    if (waiting !== undefined) await send(owner, waiting);
    const recorded = takeRecorded(owner, MAX_SERIES);
    if (recorded.length === 0) return;
    isolate_id ||= crypto.randomUUID();
    sequence += 1;
    const batch = { isolate_id, sequence, recorded };
    unsent.set(owner, batch);
    if (owner === REGION) writePoints(batch);
    await send(owner, batch);
  } catch (error) {
    log.warn("metrics_not_pushed", { owner, error: String(error) });
  } finally {
    busyUntil.delete(owner);
  }
}

async function send(owner: string, batch: MetricsBatch): Promise<void> {
  await metricsOf(env, owner).add(batch);
  if (unsent.get(owner) === batch) unsent.delete(owner);
}

function writePoints({ recorded }: MetricsBatch): void {
  // Bound where the account has Analytics Engine.
  const { ANALYTICS } = env as Env & { ANALYTICS?: AnalyticsEngineDataset };
  if (!ANALYTICS) return;
  for (const [key, values] of recorded) {
    const { name, labels } = parseSeriesKey(key);
    const doubles = values.slice(0, MAX_DOUBLES);
    ANALYTICS.writeDataPoint({ indexes: [name], blobs: labels, doubles });
  }
}
