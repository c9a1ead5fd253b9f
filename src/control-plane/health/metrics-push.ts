import { env, waitUntil } from "cloudflare:workers";
import { log } from "../../shared/log.ts";
import { onRecorded, REGION, recordedOwners, takeRecorded } from "../../shared/metrics/metrics.ts";
import { parseSeriesKey } from "../../shared/metrics/series.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { type MetricsBatch, metricsOf } from "./metrics-object.ts";

const INTERVAL_MS = 10_000;
/**
 * A push that takes longer counts as lost, because the platform may end an invocation together with its scheduled push.
 * Another invocation pushes then.
 */
const GRACE_MS = 15_000;
/** The platform allows 250 points for Analytics Engine in an invocation. */
const MAX_SERIES = 250;
const OWNERS_AT_ONCE = 6;
/** Doubles of one point. */
const MAX_DOUBLES = 20;

/** Time until which no other push is scheduled. It is 0 when nothing is scheduled. */
let expected_until = 0;
let pushed_at = 0;
let isolate_id = "";
let sequence = 0;
/** Unacknowledged batches by owner. Each is sent again with its number, so its object adds it once. */
const unsent = new Map<string, MetricsBatch>();

/**
 * Times by owner until which a push in progress blocks others: its object ignores a batch that arrives after one with a
 * higher number.
 */
const busyUntil = new Map<string, number>();

/** Schedules a push whenever the isolate records something, at most one in ten seconds. */
export function startMetrics(): void {
  onRecorded(schedulePush);
}

/**
 * Waits in the invocation that recorded something, so that ten seconds of an isolate cost one request for each owner.
 * A Durable Object that waits stays in memory up to ten seconds longer, but only one object of an isolate waits at a
 * time.
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

/** Adds what the isolate recorded to the totals of its owners. The next push repeats a batch that failed. */
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
  // The binding is optional: not every account has Analytics Engine.
  const { ANALYTICS } = env as Env & { ANALYTICS?: AnalyticsEngineDataset };
  if (!ANALYTICS) return;
  for (const [key, values] of recorded) {
    const { name, labels } = parseSeriesKey(key);
    const doubles = values.slice(0, MAX_DOUBLES);
    ANALYTICS.writeDataPoint({ indexes: [name], blobs: labels, doubles });
  }
}
