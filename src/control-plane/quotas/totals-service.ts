import type { Caller, Context } from "../../shared/context.ts";
import { usageOwner } from "../../shared/metrics/metrics.ts";
import { parseSeriesKey } from "../../shared/metrics/series.ts";
import { toUsageFields, type UsageCounts } from "../../shared/metrics/usage.ts";
import { metricsOf } from "../health/metrics-object.ts";

/** Returns the counted work of a workspace by UTC day. Days without work are absent. */
export async function listCountedUsage({
  env,
  caller,
}: Pick<Context, "env"> & { caller: Pick<Caller, "workspace_id"> }): Promise<
  Map<string, Partial<UsageCounts>>
> {
  const series = await metricsOf(env, usageOwner(caller.workspace_id)).list();
  const days = new Map<string, Partial<UsageCounts>>();
  for (const [key, values] of series) {
    const { name, labels } = parseSeriesKey(key);
    const [date = ""] = labels;
    days.set(date, { ...days.get(date), ...toUsageFields(name, values) });
  }
  return days;
}
