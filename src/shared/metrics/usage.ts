/** Values of the series that count the work of a workspace by UTC day, in their order. */
export const USAGE = {
  runs: ["runs", "run_seconds", "runs_created"],
  ingestion: ["ingested_spans", "ingested_bytes"],
} as const;

type UsageName = keyof typeof USAGE;
export type UsageField = (typeof USAGE)[UsageName][number];
export type UsageCounts = Record<UsageField, number>;

/** Returns the values of a series from its fields. Absent ones are 0. */
export function toUsageValues(name: UsageName, added: Partial<UsageCounts>): number[] {
  return USAGE[name].map((field) => added[field] ?? 0);
}

/** Returns the fields of a series, `{}` for a series that this version does not know. */
export function toUsageFields(name: string, values: readonly number[]): Partial<UsageCounts> {
  const fields = Object.hasOwn(USAGE, name) ? USAGE[name as UsageName] : [];
  return Object.fromEntries(fields.map((field, n) => [field, values[n] ?? 0]));
}
