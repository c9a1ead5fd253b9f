import type { Compiled } from "../filter/compile.ts";
import type { RunRow } from "./rows.ts";

export type Columns = readonly (keyof RunRow)[];

export type FarTrace = { root_day: string; trace_id: string };

const MAX_FAR = 10_000;

export type FeedbackStat = { key: string; n: number; avg: number | null };
export type FeedbackValue = { key: string; value: string; n: number };

/** Questions that change nothing. */
export class Reads {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  has(ids: string[]): string[] {
    return this.#sql
      .exec<{ id: string }>(
        "SELECT id FROM runs WHERE id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      )
      .toArray()
      .map(({ id }) => id);
  }

  /** Traces with runs here whose roots began on another day. */
  far(): FarTrace[] {
    return this.#sql
      .exec<FarTrace>(
        `SELECT DISTINCT root_day, trace_id FROM runs WHERE root_day IS NOT NULL LIMIT ${MAX_FAR}`,
      )
      .toArray();
  }

  /** Of the traces those with a run here that the filter matches. */
  matching(trace_ids: string[], filter: Compiled, roots_only: boolean): string[] {
    return this.#sql
      .exec<{ trace_id: string }>(
        `SELECT DISTINCT r.trace_id FROM runs r
         WHERE (${filter.sql}) AND (${roots_only ? "r.is_root = 1 AND " : ""}
           r.trace_id IN (SELECT value FROM json_each(?)))`,
        ...filter.params,
        JSON.stringify(trace_ids),
      )
      .toArray()
      .map(({ trace_id }) => trace_id);
  }

  byIds(ids: string[], columns: Columns): RunRow[] {
    return this.#sql
      .exec(
        `SELECT ${columns.join()} FROM runs WHERE id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(ids),
      )
      .toArray() as unknown as RunRow[];
  }

  /** The runs below one, by their place in the trace. */
  below(trace_id: string, run_id: string): { id: string; parent_run_id: string | null }[] {
    return this.#sql
      .exec<{ id: string; parent_run_id: string | null }>(
        `SELECT id, parent_run_id FROM runs
         WHERE trace_id = ? AND id <> ? AND instr(dotted_order, ? || '.') > 0
         ORDER BY dotted_order`,
        trace_id,
        run_id,
        run_id,
      )
      .toArray();
  }

  feedbackOf(run_ids: string[]): (FeedbackStat & { run_id: string })[] {
    return this.#sql
      .exec<FeedbackStat & { run_id: string }>(
        `SELECT run_id, key, count(*) AS n, avg(score) AS avg FROM feedback
         WHERE run_id IN (SELECT value FROM json_each(?)) GROUP BY run_id, key`,
        JSON.stringify(run_ids),
      )
      .toArray();
  }

  feedbackValuesOf(run_ids: string[]): (FeedbackValue & { run_id: string })[] {
    return this.#sql
      .exec<FeedbackValue & { run_id: string }>(
        `SELECT run_id, key, value, count(*) AS n FROM feedback
         WHERE value IS NOT NULL AND run_id IN (SELECT value FROM json_each(?))
         GROUP BY run_id, key, value`,
        JSON.stringify(run_ids),
      )
      .toArray();
  }
}
