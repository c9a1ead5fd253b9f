import type { Work } from "./model.ts";
import { PRICES, type Resource, SUBSCRIPTION_USD } from "./platform.ts";

const MONTH_S = 30 * 86_400;

const PARTS: Record<string, Resource[]> = {
  "rows that objects write": ["object_rows_written"],
  "time that objects are awake": ["object_gb_s"],
  "requests of objects": ["object_requests"],
  "storage of objects": ["object_gb"],
  "D1: rows written": ["d1_rows_written"],
  "requests and CPU": ["requests", "dynamic_requests", "dynamic_workers", "cpu_ms"],
};

/**
 * Returns US dollars of a month of 30 days, by part. Included units are subtracted, as for one region in its own
 * account.
 */
export function billOf({ billed }: Pick<Work, "billed">): Record<string, number> {
  const parts = Object.entries(PARTS).map(([part, resources]) => {
    const usd = resources.reduce((sum, resource) => sum + priceOf(resource, billed[resource]), 0);
    return [part, usd] as const;
  });
  return { ...Object.fromEntries(parts), subscription: SUBSCRIPTION_USD };
}

function priceOf(resource: Resource, amount: number): number {
  const { usd, per, included } = PRICES[resource];
  const isStorage = resource.endsWith("_gb");
  const units = isStorage ? amount : amount * MONTH_S;
  return (Math.max(0, units - included) / per) * usd;
}

export function totalOf(bill: Record<string, number>): number {
  return Object.values(bill).reduce((sum, usd) => sum + usd, 0);
}

/** @returns `null` without runs */
export function perMillionRuns(total: number, runs_per_s: number): number | null {
  return runs_per_s === 0 ? null : (total / (runs_per_s * MONTH_S)) * 1e6;
}
