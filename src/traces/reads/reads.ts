import type { CompiledFilter } from "../filter/compile.ts";
import { selectColumn } from "../rollup/usage-sql.ts";
import { termOf } from "../terms.ts";
import type { TraceRunRow } from "./rows.ts";

export type Columns = readonly (keyof TraceRunRow)[];

export type RunBelow = { id: string; parent_run_id: string | null };
export type MetadataPair = [key: string, value: string];
export type FarTrace = { root_day: string; trace_id: string };

/** Runs of the first `read` ids. */
export type RunsById = { runs: TraceRunRow[]; read: number };

const MAX_FAR = 10_000;
/** A message holds 32 MiB, a character has up to two bytes, and a run up to 1.6 million characters. */
const MESSAGE_CHARS = 8_000_000;

export type FeedbackStat = { key: string; n: number; avg: number | null };
export type FeedbackValue = { key: string; value: string; n: number };

/** Read-only queries. */
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

  range(): { min_start_us: number | null; max_start_us: number | null } {
    return this.#sql
      .exec<{ min_start_us: number | null; max_start_us: number | null }>(
        `SELECT (SELECT min(start_us) FROM runs) AS min_start_us,
                (SELECT max(start_us) FROM runs) AS max_start_us`,
      )
      .one();
  }

  /** Returns traces with runs here whose roots started on another day. */
  far(): FarTrace[] {
    return this.#sql
      .exec<FarTrace>(
        `SELECT DISTINCT root_day, trace_id FROM runs WHERE root_day IS NOT NULL LIMIT ${MAX_FAR}`,
      )
      .toArray();
  }

  /** Returns traces with a run that has one of the pairs in its metadata. */
  tracesWith(pairs: MetadataPair[]): string[] {
    return this.#sql
      .exec<{ trace_id: string }>(
        `SELECT DISTINCT r.trace_id FROM json_each(?) AS pair
         CROSS JOIN run_terms t ON t.term = pair.value->>2
         CROSS JOIN json_each(coalesce(t.rows, t.row)) l
         CROSS JOIN runs r ON r.row = l.value
         CROSS JOIN metadata_pairs p ON p.row = r.row
           AND p.key = pair.value->>0 AND p.value = pair.value->>1 LIMIT ${MAX_FAR}`,
        JSON.stringify(pairs.map(([key, value]) => [key, value, termOf("m", key, value)])),
      )
      .toArray()
      .map(({ trace_id }) => trace_id);
  }

  /** Returns the traces with a run here that the filter matches. */
  matching(trace_ids: string[], filter: CompiledFilter, roots_only: boolean): string[] {
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

  /** Reads runs in the order of their ids: at least one, then as many as fit a message. */
  byIds(ids: string[], columns: Columns): RunsById {
    const found = this.#sql.exec<Record<string, string | number | null>>(
      `SELECT j.key AS at, ${columns.map(selectColumn).join()}
       FROM json_each(?) j CROSS JOIN runs r ON r.id = j.value ORDER BY j.key`,
      JSON.stringify(ids),
    );
    const runs: TraceRunRow[] = [];
    let chars = 0;
    for (const { at, ...row } of found) {
      if (chars > MESSAGE_CHARS) return { runs, read: Number(at) };
      for (const value of Object.values(row)) chars += typeof value === "string" ? value.length : 0;
      runs.push(row as unknown as TraceRunRow);
    }
    return { runs, read: ids.length };
  }

  /** Returns the runs below one by dotted order, which itself would make the answer of a deep trace too large. */
  below(trace_id: string, run_id: string): RunBelow[] {
    return this.#sql
      .exec<RunBelow>(
        `SELECT id, parent_run_id FROM runs
         WHERE trace_id = ? AND id <> ? AND instr(dotted_order, ? || '.') > 0
         ORDER BY dotted_order`,
        trace_id,
        run_id,
        run_id,
      )
      .toArray();
  }

  hasFeedback(): boolean {
    return this.#sql.exec("SELECT 1 FROM feedback LIMIT 1").toArray().length > 0;
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

  /** Counts text values; numbers and objects have none. */
  feedbackValuesOf(run_ids: string[]): (FeedbackValue & { run_id: string })[] {
    return this.#sql
      .exec<FeedbackValue & { run_id: string }>(
        `SELECT run_id, key, value, count(*) AS n FROM feedback
         WHERE json_type(body, '$.value') = 'text' AND run_id IN (SELECT value FROM json_each(?))
         GROUP BY run_id, key, value`,
        JSON.stringify(run_ids),
      )
      .toArray();
  }
}
