import type { matchRuns } from "../reads/query.ts";
import { usageSql } from "../rollup/usage-sql.ts";
import { type CountedRun, TIMING_COLUMNS, USAGE_COLUMNS } from "../totals.ts";
import type { Usage } from "../usage.ts";

export type GroupBy =
  | { attribute: "name" | "run_type" | "status" | "tag" }
  | { attribute: "metadata"; key: string };

export type Match = Pick<ReturnType<typeof matchRuns>, "text" | "params">;
export type Named = { name: string; run_type: string; status: string };
export type MatchingRun = CountedRun &
  Named & { trace_id: string; is_root: number; groups: string | null };

const NO_USAGE = Object.fromEntries(USAGE_COLUMNS.map((name) => [name, null])) as Usage;

/** Yields matching runs without payloads, roots first, with their groups as a JSON list. */
export function* readMatching(
  sql: SqlStorage,
  match: Match,
  group_by: GroupBy | null,
): Generator<MatchingRun> {
  const grouping = groupColumn(group_by);
  const summed = USAGE_COLUMNS.map((name) => `${usageSql(name)} AS ${name}`);
  for (const [is_root, usage] of [[1, summed] as const, [0, USAGE_COLUMNS] as const]) {
    const columns = ["trace_id", "is_root", "name", "run_type", ...TIMING_COLUMNS, ...usage];
    yield* sql.exec<MatchingRun>(
      `SELECT ${columns.join()}, ${grouping.text} AS groups FROM runs r
       WHERE r.is_root = ${is_root} AND ${match.text}`,
      ...grouping.params,
      ...match.params,
    );
  }
}

/** Counts the usage of a trace once: at its root when that matches. Expects roots first. */
export class UsageOnce {
  readonly #counted = new Set<string>();

  take(run: MatchingRun): CountedRun {
    if (this.#counted.has(run.trace_id)) return { ...run, ...NO_USAGE };
    if (run.is_root === 1) this.#counted.add(run.trace_id);
    return run;
  }
}

/** Returns a JSON list of a run's groups. */
export function groupColumn(group_by: GroupBy | null): Match {
  switch (group_by?.attribute) {
    case undefined:
      return { text: "NULL", params: [] };
    case "tag":
      return { text: "tags", params: [] };
    case "metadata":
      return {
        text: `(SELECT json_group_array(p.value) FROM metadata_pairs p
          WHERE p.row = r.row AND p.key = ?)`,
        params: [group_by?.attribute === "metadata" ? group_by.key : ""],
      };
    default:
      return { text: `json_array(${group_by?.attribute})`, params: [] };
  }
}

export function groupsOf(text: string | null): string[] {
  const groups: unknown = text === null ? [] : JSON.parse(text);
  return Array.isArray(groups) ? [...new Set(groups.map(String))] : [];
}
