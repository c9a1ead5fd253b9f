import { listExportUsage } from "../../exports/bulk-exports/export-usage-service.ts";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import type { UsageCounts } from "../../shared/metrics/usage.ts";
import { listTraceUsage } from "../../traces/stats/trace-usage-service.ts";
import { METERS, type Quota, type QuotasChange } from "../quotas/quota-schema.ts";
import { type ReadUsage, readQuotas, saveQuotas } from "../quotas/quota-service.ts";
import { listStoredBytes, totalOf } from "../quotas/stored-service.ts";
import { listCountedUsage } from "../quotas/totals-service.ts";
import type { StoredUsage, UsageDay, UsageQuery } from "./usage-schema.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

const NO_COUNTS: UsageCounts = {
  ...{ runs: 0, run_seconds: 0, runs_created: 0 },
  ...{ ingested_spans: 0, ingested_bytes: 0 },
};
const NO_TRACES = { traces: 0, spans: 0, trace_bytes: 0 };
const NO_EXPORTS = { export_files: 0, export_rows: 0, export_bytes: 0 };

export async function getUsage(ctx: Context, query: UsageQuery): Promise<UsageDay[]> {
  assertMay(ctx, "admin");
  const dates = datesOf(query);
  const range = { from: dates.at(0) ?? "", to: dates.at(-1) ?? "" };
  const [counts, traces, exports] = await Promise.all([
    listCountedUsage(ctx),
    listTraceUsage(ctx, range),
    listExportUsage(ctx, range),
  ]);
  return dates.map((date) => ({
    date,
    ...NO_COUNTS,
    ...counts.get(date),
    ...(traces.get(date) ?? NO_TRACES),
    ...(exports.get(date) ?? NO_EXPORTS),
  }));
}

export async function getStored(ctx: Context): Promise<StoredUsage> {
  assertMay(ctx, "admin");
  const stored = await listStoredBytes(ctx.db, ctx.caller.workspace_id);
  return { ...stored, total: totalOf(stored) };
}

/** Returns the quotas with the usage of their current period. Each role may read them: they limit the work of all. */
export async function listQuotas(ctx: Context): Promise<Quota[]> {
  assertMay(ctx, "read");
  return readQuotas(ctx, METERS, readMeters);
}

export async function setQuotas(ctx: Context, change: QuotasChange): Promise<Quota[]> {
  await saveQuotas(ctx, change);
  return listQuotas(ctx);
}

/** Reads all meters of work. */
export const readMeters: ReadUsage = async (ctx, range) => {
  const [counts, exports] = await Promise.all([listCountedUsage(ctx), listExportUsage(ctx, range)]);
  const dates = new Set([...counts.keys(), ...exports.keys()]);
  return new Map([...dates].map((date) => [date, { ...counts.get(date), ...exports.get(date) }]));
};

function datesOf({ from, to = toDate(Date.now()) }: UsageQuery): string[] {
  const last = Date.parse(to);
  const first = from === undefined ? last - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(from);
  if (first > last) throw invalid(["query", "from"], "must not be after `to`");
  const days = (last - first) / DAY_MS + 1;
  if (days > MAX_DAYS)
    throw invalid(["query", "from"], `must be at most ${MAX_DAYS - 1} days before \`to\``);
  return Array.from({ length: days }, (_, n) => toDate(first + n * DAY_MS));
}

function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
