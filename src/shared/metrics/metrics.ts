import { definitionOf, type LabelsOf, METRICS, type MetricName } from "./definitions.ts";
import { addToSeries, type Series, seriesKey } from "./series.ts";
import { toUsageValues, type USAGE, type UsageCounts } from "./usage.ts";

/** Owner of the metrics of all tenants. */
export const REGION = "region";

/** Sums that the isolate recorded and `takeRecorded` has not removed, by their owner. */
const pending = new Map<string, Series>();
let notifyRecorded = () => {};

/** @param by added to a counter */
export function count<N extends MetricName>(name: N, labels: LabelsOf<N>, by = 1): void {
  record(name, labels, [by]);
}

/** Adds an observation to a histogram. */
export function observe<N extends MetricName>(name: N, labels: LabelsOf<N>, value: number): void {
  const buckets = definitionOf(name)?.buckets ?? [];
  const bucket = buckets.findIndex((bound) => value <= bound);
  const counts = new Array<number>(buckets.length + 1).fill(0);
  counts[bucket < 0 ? buckets.length : bucket] = 1;
  record(name, labels, [value, ...counts]);
}

function record<N extends MetricName>(name: N, labels: LabelsOf<N>, values: number[]): void {
  const given = labels as Record<string, string | number>;
  const key = seriesKey(
    name,
    METRICS[name].labels.map((label) => given[label] ?? ""),
  );
  recordFor(REGION, key, values);
}

/** Owner of the usage of a workspace. */
export function usageOwner(workspace_id: string): string {
  return `workspace/${workspace_id}`;
}

/** Adds work to the usage of a workspace, on the current UTC day. */
export function countUsage(
  workspace_id: string,
  name: keyof typeof USAGE,
  added: Partial<UsageCounts>,
): void {
  const day = new Date().toISOString().slice(0, 10);
  recordFor(usageOwner(workspace_id), seriesKey(name, [day]), toUsageValues(name, added));
}

function recordFor(owner: string, key: string, values: number[]): void {
  const series = pending.get(owner) ?? new Map();
  pending.set(owner, series);
  addToSeries(series, key, values);
  notifyRecorded();
}

/** @param notify called after each record. Without it no metric leaves the isolate, as in the processes of agents */
export function onRecorded(notify: () => void): void {
  notifyRecorded = notify;
}

/** Returns the owners with recorded series. */
export function recordedOwners(): string[] {
  return [...pending.keys()];
}

/** Removes and returns at most `limit` series of an owner. */
export function takeRecorded(owner: string, limit: number): [string, number[]][] {
  const series = pending.get(owner);
  const taken = [...(series ?? [])].slice(0, limit);
  for (const [key] of taken) series?.delete(key);
  if (series?.size === 0) pending.delete(owner);
  return taken;
}
