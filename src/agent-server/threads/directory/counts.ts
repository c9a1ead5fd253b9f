import type { ThreadStatus } from "../contract/run-decisions.ts";

export type StatusCounts = Record<ThreadStatus, number>;
export type StatusCount = { status: ThreadStatus; threads: number };

export const NO_THREADS: StatusCounts = { idle: 0, busy: 0, interrupted: 0, error: 0 };

export function toStatusCounts(rows: Iterable<StatusCount>): StatusCounts {
  const counts = { ...NO_THREADS };
  for (const { status, threads } of rows) counts[status] = threads;
  return counts;
}

/**
 * Counts of the threads that are not temporary. The table counts a busy thread as idle: otherwise each run would write
 * two rows at its start and two at its end. Busy threads are few, and are counted by the index of the status.
 * An earlier version wrote a row for busy threads, so reads add the rows of both statuses.
 */
export class DirectoryCounts {
  readonly #sql: SqlStorage;
  readonly #added = new Map<ThreadStatus, number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds `n` to a count in memory. `write` stores it. */
  add(status: ThreadStatus, n: number) {
    const stored = status === "busy" ? "idle" : status;
    this.#added.set(stored, (this.#added.get(stored) ?? 0) + n);
  }

  write() {
    for (const [status, threads] of this.#added) {
      if (threads === 0) continue;
      this.#sql.exec(
        `INSERT INTO counts VALUES (?, ?)
         ON CONFLICT (status) DO UPDATE SET threads = threads + excluded.threads`,
        ...[status, threads],
      );
    }
    this.#added.clear();
  }

  size(): number {
    return Object.values(this.#stored()).reduce((sum, threads) => sum + threads, 0);
  }

  /** Returns the counts of one status or, with `undefined`, of all. */
  byStatus(wanted: ThreadStatus | undefined): StatusCounts {
    const counts = this.#stored();
    if (wanted !== "interrupted" && wanted !== "error") {
      counts.busy = this.#countBusy("AND is_temporary = 0");
      counts.idle -= counts.busy;
    }
    return wanted ? { ...NO_THREADS, [wanted]: counts[wanted] } : counts;
  }

  /**
   * Estimates the number of threads of a status, to compare sources of a search. `busy` is counted up to `most`, with
   * temporary threads. The other counts have no temporary threads, and `idle` has the busy ones too.
   */
  candidates(status: ThreadStatus, most: number): number {
    if (status === "busy") return this.#countBusy("LIMIT ?", most);
    return this.#stored()[status];
  }

  #countBusy(condition: string, ...values: number[]): number {
    const busy = `SELECT 1 FROM threads INDEXED BY threads_by_status WHERE status = 'busy'`;
    const sql = `SELECT count(*) AS n FROM (${busy} ${condition})`;
    return this.#sql.exec<{ n: number }>(sql, ...values).one().n;
  }

  #stored(): StatusCounts {
    const counts = toStatusCounts(this.#sql.exec<StatusCount>("SELECT * FROM counts"));
    return { ...counts, idle: counts.idle + counts.busy, busy: 0 };
  }
}
