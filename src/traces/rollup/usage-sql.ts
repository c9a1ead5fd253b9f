import { COSTS, USAGE_COLUMNS } from "../totals.ts";
import type { Usage } from "../usage.ts";

export function isUsage(name: string): name is keyof Usage {
  return (USAGE_COLUMNS as readonly string[]).includes(name);
}

/** Returns the usage of alias `r`: its own, else of the model calls below it. */
export function usageSql(name: keyof Usage): string {
  return ownOr(name, "(SELECT u.below FROM run_usage u WHERE u.row = r.row)");
}

/** Returns a column of alias `r` for a SELECT. */
export function selectColumn(name: string): string {
  return isUsage(name) ? `${usageSql(name)} AS ${name}` : `r.${name}`;
}

/**
 * Rows `r` by number, in the given order, with the usage below each as `j.below`. `LIMIT` makes
 * SQLite sum it once for all columns.
 */
export const ROWS_WITH_USAGE = `(SELECT key, value AS row,
    (SELECT u.below FROM run_usage u WHERE u.row = j.value) AS below FROM json_each(?) j LIMIT -1) j
  CROSS JOIN runs r ON r.row = j.row`;

/** Returns a column of `ROWS_WITH_USAGE`. */
export function columnWithUsage(name: string): string {
  return isUsage(name) ? ownOr(name, "j.below") : `r.${name}`;
}

/** Returns the usage of alias `r` with a JSON array of `run_usage`. A run's tokens and costs replace the sum separately. */
function ownOr(name: keyof Usage, below: string): string {
  const own = USAGE_COLUMNS.filter((other) => isCost(other) === isCost(name));
  return `CASE WHEN coalesce(${own.map((n) => `r.${n}`).join()}) IS NOT NULL THEN r.${name} ELSE ${below} ->> ${USAGE_COLUMNS.indexOf(name)} END`;
}

/** Sums the model calls below a run that lacks tokens or costs, `null` without such calls. */
export function usageBelow(alias: string): string {
  const sums = USAGE_COLUMNS.map((name) => (isCost(name) ? decimalSum(name) : integerSum(name)));
  return `CASE WHEN ${alias}.total_tokens IS NULL OR ${alias}.total_cost IS NULL THEN (
    SELECT CASE WHEN count(*) > 0 THEN json_array(${sums.join()}) END FROM runs c
    WHERE ${isBelow("c", alias)} AND ${isCounted("c")}) END`;
}

/** Cuts the noise of binary fractions. */
function decimalSum(name: keyof Usage): string {
  const text = `rtrim(rtrim(printf('%.15f', total(CAST(c.${name} AS REAL))), '0'), '.')`;
  return `CASE WHEN count(c.${name}) > 0 THEN ${text} END`;
}

/** `sum` would fail on an overflow. */
function integerSum(name: keyof Usage): string {
  const isExact = `total(c.${name}) <= ${Number.MAX_SAFE_INTEGER}`;
  return `CASE WHEN count(c.${name}) > 0 AND ${isExact} THEN CAST(total(c.${name}) AS INTEGER) END`;
}

function isCost(name: keyof Usage): boolean {
  return COSTS.some((cost) => cost === name);
}

/** Condition of the index `runs_usage`. */
export function hasUsage(alias: string): string {
  const prefix = alias === "" ? "" : `${alias}.`;
  return `(${prefix}total_tokens IS NOT NULL OR ${prefix}total_cost IS NOT NULL)`;
}

/** Selects the runs below another one: `/` follows `.` in ASCII. */
export function isBelow(below: string, above: string): string {
  return `${below}.trace_id = ${above}.trace_id AND ${below}.dotted_order > ${above}.dotted_order || '.'
    AND ${below}.dotted_order < ${above}.dotted_order || '/'`;
}

/** Counts usage of a model's run once when the runs above it repeat it. */
export function isCounted(alias: string): string {
  return `${hasUsage(alias)} AND (${alias}.run_type = 'llm' OR NOT EXISTS (SELECT 1 FROM runs l
    WHERE ${isBelow("l", alias)} AND l.run_type = 'llm' AND ${hasUsage("l")}))`;
}
