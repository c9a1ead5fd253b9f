import { AppError } from "../../shared/errors.ts";
import { startHeartbeat } from "../../shared/work/heartbeat.ts";
import { LeaseLost } from "../../shared/work/lease.ts";
import { ISOLATE_BUDGET, type Reserve } from "../../shared/work/memory-budget.ts";
import { extendLease, type WebhookRow } from "./lease.ts";
import { LEASE_MS } from "./limits.ts";
import { type DeliveryOutcome, failure } from "./pauses.ts";

/** Smaller payloads are not counted: no isolate has enough of them to fill its memory. */
const SMALL_PAYLOAD_BYTES = 256 * 1024;
/** Time after which the reserved bytes are released although the attempt continues: other tenants wait for them. */
const MAX_HOLD_MS = 10_000;

/**
 * Sends a payload once the isolate admits its bytes. The wait renews the lease. Fails when a newer attempt has begun.
 */
export function sendAdmitted(
  env: Env,
  row: WebhookRow,
  bytes: number,
  send: () => Promise<DeliveryOutcome>,
): Promise<DeliveryOutcome> {
  if (bytes <= SMALL_PAYLOAD_BYTES) return send();
  return ISOLATE_BUDGET.hold(async (reserve, release) => {
    if (!(await waitForRoom(env, row, bytes, reserve))) return failure("A newer attempt began.");
    const timer = setTimeout(release, MAX_HOLD_MS);
    return send().finally(() => clearTimeout(timer));
  });
}

/** @returns `false` when a newer attempt holds the lease */
async function waitForRoom(
  env: Env,
  row: WebhookRow,
  bytes: number,
  reserve: Reserve,
): Promise<boolean> {
  const { signal, stop } = startHeartbeat({
    interval_ms: LEASE_MS / 4,
    renew: () => extendLease(env, row),
    lost: () => new LeaseLost(`webhook ${row.run_id}`, row.attempt),
  });
  try {
    while (!(await isAdmitted(reserve(bytes)))) if (signal.aborted) return false;
  } finally {
    stop();
  }
  return extendLease(env, row);
}

async function isAdmitted(reserved: Promise<void>): Promise<boolean> {
  try {
    await reserved;
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "unavailable") return false;
    throw error;
  }
}
