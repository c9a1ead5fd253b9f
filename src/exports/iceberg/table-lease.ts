import { and, eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { retry } from "../../shared/work/backoff.ts";
import { startHeartbeat } from "../../shared/work/heartbeat.ts";
import { isUnleased, LeaseLost, leaseUntil } from "../../shared/work/lease.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../limits.ts";
import { bulk_export_tables, type TableRow } from "../table.ts";

const tables = bulk_export_tables;
const POLL_MS = 500;
/** Number of attempts to claim, together about 15 seconds. They outlast the lease of a writer that died. */
const MAX_POLLS = 30;

export type TableOwner = { schedule_id: string; workspace_id: string };

/**
 * Runs the commits to a table one at a time. The signal of `work` also aborts when the lease is lost.
 * @throws TableBusy when the table stays leased during MAX_POLLS attempts
 */
export async function withTable<T>(
  env: Env,
  owner: TableOwner,
  signal: AbortSignal,
  work: (table: TableRow, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const table = await retry(() => claimTable(env, owner, new Date()), delayOf, signal);
  const heartbeat = startHeartbeat({
    interval_ms: HEARTBEAT_MS,
    lease_ms: LEASE_MS,
    renew: () => changeTable(env, table, { lease_expires_at: leaseUntil(new Date(), LEASE_MS) }),
    lost: () => leaseLost(table),
  });
  try {
    return await work(table, AbortSignal.any([signal, heartbeat.signal]));
  } finally {
    heartbeat.stop();
    await releaseTable(env, table).catch((error) => log.error("table_lease_kept", error));
  }
}

/** Raises the token, so that a renewal that is still under way does not lease the table again. */
function releaseTable(env: Env, table: TableRow): Promise<boolean> {
  return changeTable(env, table, { lease_expires_at: null, token: table.token + 1 });
}

class TableBusy extends AppError {
  constructor() {
    super("unavailable", "Another window is being added to the table.");
  }
}

function delayOf(error: unknown, attempt: number): number | null {
  return error instanceof TableBusy && attempt < MAX_POLLS ? POLL_MS : null;
}

/**
 * Claims the lease with a greater fencing token. The first window creates the row of the table.
 * @throws TableBusy while another attempt has the lease
 */
export async function claimTable(env: Env, owner: TableOwner, now: Date): Promise<TableRow> {
  const at = now.toISOString();
  const lease = { lease_expires_at: leaseUntil(now, LEASE_MS), updated_at: at };
  const [row] = await database(env)
    .insert(tables)
    .values({
      ...owner,
      ...lease,
      token: 1,
      version: 0,
      published_version: 0,
      manifests: [],
      unused_files: [],
    })
    .onConflictDoUpdate({
      target: tables.schedule_id,
      set: { ...lease, token: sql`${tables.token} + 1` },
      setWhere: sql`${isUnleased(tables.lease_expires_at, at)}`,
    })
    .returning();
  if (!row) throw new TableBusy();
  return row;
}

/** @returns whether the lease is still held: otherwise nothing has changed */
export async function changeTable(
  env: Env,
  { schedule_id, token }: TableRow,
  fields: Partial<TableRow>,
): Promise<boolean> {
  const rows = await database(env)
    .update(tables)
    .set({ ...fields, updated_at: new Date().toISOString() })
    .where(and(eq(tables.schedule_id, schedule_id), eq(tables.token, token)))
    .returning({ token: tables.token });
  return rows.length > 0;
}

export function leaseLost({ schedule_id, token }: TableRow): LeaseLost {
  return new LeaseLost(`table ${schedule_id}`, token);
}
