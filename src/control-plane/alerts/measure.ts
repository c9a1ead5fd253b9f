import type { Context } from "../../shared/context.ts";
import { assertProject } from "../../traces/projects/service.ts";
import { getMonitoredFigures } from "../../traces/stats/monitor-service.ts";
import { METERS } from "../quotas/quota-schema.ts";
import { readQuotas } from "../quotas/quota-service.ts";
import { readMeters } from "../usage/usage-service.ts";
import type { Alert } from "./alert-schema.ts";

type Measure = Pick<
  Alert,
  "metric" | "session_id" | "filter" | "is_root" | "feedback_key" | "window_minutes"
>;

/** Returns the value of a metric in the window that ends now, or that of `quota_used` now. `null` without a value. */
export async function measureAlert(
  ctx: Context,
  { metric, session_id, filter, is_root, feedback_key, window_minutes }: Measure,
  now: Date,
): Promise<number | null> {
  if (metric === "quota_used" || session_id === null) return measureQuotas(ctx);
  await assertProject(ctx, session_id);
  const from = new Date(now.getTime() - window_minutes * 60_000);
  const runs = { session_id, filter, is_root, from, to: now };
  const { feedback, ...figures } = await getMonitoredFigures(ctx, runs);
  return metric === "feedback_score" ? (feedback.get(feedback_key ?? "") ?? null) : figures[metric];
}

/** Returns the largest used share of the workspace's quotas, `null` without quotas. A quota of 0 counts as used up. */
async function measureQuotas(ctx: Context): Promise<number | null> {
  const quotas = await readQuotas(ctx, METERS, readMeters);
  if (quotas.length === 0) return null;
  return Math.max(...quotas.map(({ used, limit }) => (limit === 0 ? 1 : used / limit)));
}
