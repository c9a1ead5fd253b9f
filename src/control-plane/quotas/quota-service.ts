import { and, eq, inArray } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Caller, Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { withTimeout } from "../../shared/work/timeout.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import type { Meter, Quota, QuotaPeriod, QuotasChange, WorkMeter } from "./quota-schema.ts";
import { listStoredBytes, totalOf } from "./stored-service.ts";
import { quotas } from "./table.ts";
import { listCountedUsage } from "./totals-service.ts";

export const RUN_METERS = ["runs_created", "run_seconds", "stored_bytes"] as const;
export const INGESTION_METERS = ["ingested_spans", "ingested_bytes", "stored_bytes"] as const;
export const EXPORT_METERS = ["export_rows", "export_bytes"] as const;

/** Age at which the usage that an isolate compares with a quota is read again. */
const USED_MS = 10_000;
/** Time until quotas are read again when the workspace has none, or when their last read failed. */
const NONE_MS = 60_000;
/** Maximum delay of work while a store does not answer. */
const TIMEOUT_MS = 2000;

/** First and last UTC day, both included. */
type DayRange = { from: string; to: string };
type Period = DayRange & { resets_at: string };
type Days = Map<string, Partial<Record<WorkMeter, number>>>;
/** Context of which only the workspace is used: uploads and pushes of git hosts have no caller. */
export type QuotaScope = Pick<Context, "env" | "db"> & { caller: Pick<Caller, "workspace_id"> };
/** Reads meters of work by UTC day. May return more meters and days than needed. */
export type ReadUsage = (scope: QuotaScope, range: DayRange) => Promise<Days>;

const NO_DAYS: Days = new Map();
/** Quotas by workspace and first meter. The lists of meters that are checked begin differently. */
const checked = new TtlCache<Quota[]>((found) => (found.length === 0 ? NONE_MS : USED_MS), 10_000);

/**
 * Refuses work of a workspace that has used up a quota. The check fails open: without D1 or the totals work is
 * accepted.
 *
 * @throws `quota_exceeded`, a 402 and not a 429: published clients repeat a 429 after its `Retry-After`, and a quota
 * may reset only after a month
 */
export async function assertQuota(
  ctx: QuotaScope,
  meters: readonly Meter[],
  read: ReadUsage = listCountedUsage,
): Promise<void> {
  const key = `${ctx.caller.workspace_id}/${meters[0]}`;
  const found = await checked.get(key, () => tryToRead(ctx, meters, read));
  const now = new Date();
  const exceeded = found.find(
    ({ used, limit, resets_at }) =>
      used >= limit && (resets_at === null || resets_at > now.toISOString()),
  );
  if (exceeded !== undefined) throw quotaExceeded(exceeded, now);
}

/** Refuses uploads and builds of a workspace whose storage is full. */
export function assertStorageQuota(scope: QuotaScope): Promise<void> {
  return assertQuota(scope, ["stored_bytes"]);
}

async function tryToRead(ctx: QuotaScope, meters: readonly Meter[], read: ReadUsage) {
  const { workspace_id } = ctx.caller;
  const fail = (error: unknown): Quota[] => {
    log.warn("quota_not_checked", { workspace_id, error: String(error) });
    return [];
  };
  const found = readQuotas(ctx, meters, read).catch(fail);
  return withTimeout(found, TIMEOUT_MS, () => fail(`No answer in ${TIMEOUT_MS} ms`));
}

/** Returns the quotas of these meters, and how much of them is used. */
export async function readQuotas(
  ctx: QuotaScope,
  meters: readonly Meter[],
  read: ReadUsage,
): Promise<Quota[]> {
  const rows = await ctx.db
    .select()
    .from(quotas)
    .where(and(inWorkspace(ctx, quotas), inArray(quotas.meter, [...meters])))
    .orderBy(quotas.meter, quotas.period, quotas.set_by);
  if (rows.length === 0) return [];
  const now = new Date();
  const [days, stored] = await Promise.all([
    rows.some(({ period }) => period !== "total") ? read(ctx, periodOf("month", now)) : NO_DAYS,
    rows.some(({ period }) => period === "total")
      ? listStoredBytes(ctx.db, ctx.caller.workspace_id).then(totalOf)
      : 0,
  ]);
  return rows.map(({ meter, period, limit, set_by }) => {
    const { used, resets_at } =
      meter === "stored_bytes" || period === "total"
        ? { used: stored, resets_at: null }
        : usedIn(days, meter, periodOf(period, now));
    const remaining = Math.max(0, limit - used);
    return { meter, period, limit, set_by, used, remaining, resets_at };
  });
}

function usedIn(days: Days, meter: WorkMeter, { from, resets_at }: Period) {
  const values = [...days].flatMap(([day, fields]) => (day >= from ? (fields[meter] ?? 0) : 0));
  return { used: values.reduce((sum, value) => sum + value, 0), resets_at };
}

/** Replaces the quotas of the workspace's admins. Those of the operator stay. */
export async function saveQuotas(ctx: Context, change: QuotasChange): Promise<void> {
  assertMay(ctx, "admin");
  const { workspace_id } = ctx.caller;
  const updated_at = new Date().toISOString();
  const rows = change.quotas.map((quota) => ({
    ...quota,
    ...{ workspace_id, updated_at, set_by: "admin" as const },
  }));
  await ctx.db.batch([
    ctx.db
      .delete(quotas)
      .where(and(eq(quotas.workspace_id, workspace_id), eq(quotas.set_by, "admin"))),
    ...rows.map((row) => ctx.db.insert(quotas).values(row)),
  ]);
  checked.forget((key) => key.startsWith(`${workspace_id}/`));
}

function quotaExceeded(quota: Quota, now: Date): AppError {
  const { meter, period, limit, used, resets_at, set_by } = quota;
  const remedy =
    set_by === "admin"
      ? "An admin of the workspace can raise it with PUT /v1/quotas."
      : "Only the operator of the installation can raise it.";
  if (resets_at === null) {
    const text = `${meter}: the workspace stores ${used} bytes of its quota of ${limit}. Delete traces, projects or deployments; GET /v1/usage has the bytes by kind. ${remedy}`;
    return new AppError("quota_exceeded", text);
  }
  const text = `${meter}: the workspace has used ${round(used)} of its quota of ${limit} a ${period}. It resets at ${resets_at}. ${remedy}`;
  const retry_after_seconds = Math.ceil((Date.parse(resets_at) - now.getTime()) / 1000);
  return new AppError("quota_exceeded", text, { retry_after_seconds });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Returns the days from the start of the current period until today, and the end of the period. */
function periodOf(period: Exclude<QuotaPeriod, "total">, now: Date): Period {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const isDay = period === "day";
  const from = new Date(Date.UTC(year, month, isDay ? day : 1));
  const end = new Date(isDay ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1));
  return { from: toDay(from), to: toDay(now), resets_at: end.toISOString() };
}

function toDay(time: Date): string {
  return time.toISOString().slice(0, 10);
}
