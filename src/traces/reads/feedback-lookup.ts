import { type FeedbackEntry, SHOWN_VALUE } from "../rows/rows.ts";

type FoundEntry = FeedbackEntry & { run_id: string };

/**
 * Number of rows of feedback, or of runs with feedback, up to which they are read at once: a statement for each run
 * costs more.
 */
const MAX_AT_ONCE = 20_000;
/** Limit of the characters of these values: one has up to 100,000, and the isolate has 128 MB. */
const MAX_CHARS = 4_000_000;
/** Maximum number of runs that a key narrows a query to. */
const MAX_RUNS = 5000;
const COLUMNS = "run_id, key, score, value, source";

/** Feedback of runs by their ids. Rows that are read at once are not read again, so a lookup lasts for one call. */
export class FeedbackLookup {
  readonly #sql: SqlStorage;
  #all: Map<string, FeedbackEntry[]> | "many" | null = null;
  #runs: Set<string> | "many" | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  of(run_id: string): Iterable<FeedbackEntry> {
    this.#all ??= this.#readAll();
    if (this.#all !== "many") return this.#all.get(run_id) ?? [];
    return this.#sql.exec<FoundEntry>(`SELECT ${COLUMNS} FROM feedback WHERE run_id = ?`, run_id);
  }

  /** Returns false only for a run without feedback. */
  mayHave(run_id: string): boolean {
    this.#runs ??= this.#readRuns();
    return this.#runs === "many" || this.#runs.has(run_id);
  }

  /** @returns `null` when too many runs have feedback with the key */
  runsWith(key: string): string[] | null {
    const runs = this.#sql
      .exec<{ run_id: string }>(
        `SELECT DISTINCT run_id FROM feedback WHERE key = ? LIMIT ${MAX_RUNS + 1}`,
        key,
      )
      .toArray();
    return runs.length > MAX_RUNS ? null : runs.map(({ run_id }) => run_id);
  }

  /** Yields all feedback. `value` is `null` unless it is a text, and is cut to what statistics show. */
  withTextValues(): Iterable<FoundEntry> {
    return this.#sql.exec<FoundEntry>(
      `SELECT run_id, key, score, source,
         iif(json_type(body, '$.value') = 'text', ${SHOWN_VALUE}, NULL) AS value FROM feedback`,
    );
  }

  #readRuns(): Set<string> | "many" {
    const rows = this.#sql
      .exec<{ run_id: string }>(`SELECT DISTINCT run_id FROM feedback LIMIT ${MAX_AT_ONCE + 1}`)
      .toArray();
    return rows.length > MAX_AT_ONCE ? "many" : new Set(rows.map(({ run_id }) => run_id));
  }

  #readAll(): Map<string, FeedbackEntry[]> | "many" {
    const rows: FoundEntry[] = [];
    let chars = 0;
    for (const row of this.#sql.exec<FoundEntry>(`SELECT ${COLUMNS} FROM feedback`)) {
      rows.push(row);
      chars += row.value?.length ?? 0;
      if (rows.length > MAX_AT_ONCE || chars > MAX_CHARS) return "many";
    }
    return Map.groupBy(rows, ({ run_id }) => run_id);
  }
}
