import { isMigrated, migrate } from "../../shared/storage/object-tables.ts";
import type { RunChange } from "../changes.ts";
import { findRuns, type RunsQuery } from "../reads/query.ts";
import { Reads } from "../reads/reads.ts";
import type { TraceRunRow } from "../reads/rows.ts";
import { Scan } from "../reads/scan.ts";
import { type RowsPage, type RowsQuery, readPage } from "../reads/scan-page.ts";
import { PartitionCounts } from "./counts.ts";
import { FeedbackTable } from "./feedback.ts";
import { deleteTraces, Leftovers } from "./leftovers.ts";
import type { GroupBy } from "./matching-runs.ts";
import { MIGRATIONS } from "./migrations.ts";
import { RunWriter } from "./runs.ts";
import {
  collectStats,
  collectTraceTotals,
  type PartitionStats,
  type TraceTotals,
} from "./stats.ts";
import { collectThreads, type ThreadTotals } from "./threads.ts";

/** Storage of one partition. */
export class PartitionStore {
  readonly feedback: FeedbackTable;
  readonly leftovers: Leftovers;
  readonly reads: Reads;
  readonly scan: Scan;
  readonly #storage: DurableObjectStorage;
  #counts: PartitionCounts;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.feedback = new FeedbackTable(storage.sql);
    this.leftovers = new Leftovers(storage.sql);
    this.reads = new Reads(storage.sql);
    this.scan = new Scan(storage.sql);
    this.#counts = new PartitionCounts(storage);
    if (this.exists) migrate(storage, MIGRATIONS);
  }

  get exists(): boolean {
    return isMigrated(this.#storage);
  }

  get counts(): PartitionCounts {
    return this.#counts;
  }

  get bytes(): number {
    return this.#storage.sql.databaseSize;
  }

  /**
   * Applies changes in one transaction. With `known_only`, returns ids of runs that are not stored
   * here.
   */
  ingest(changes: RunChange[], known_only: boolean): string[] {
    if (!this.exists && known_only) return changes.map(({ id }) => id);
    migrate(this.#storage, MIGRATIONS);
    const unknown: string[] = [];
    this.#transaction(() => {
      const writer = new RunWriter(this.#storage.sql, this.#counts);
      const seen = new Set(this.reads.has(changes.map(({ id }) => id)));
      for (const change of changes) {
        const stored = seen.has(change.id) ? writer.find(change.id) : null;
        if (stored === null && known_only) unknown.push(change.id);
        else {
          writer.apply(change, stored);
          seen.add(change.id);
        }
      }
      writer.finish();
      this.#counts.save();
    });
    return unknown;
  }

  readPage(query: RowsQuery): RowsPage {
    return readPage(this.#storage.sql, query);
  }

  find(query: RunsQuery): TraceRunRow[] {
    return findRuns(this.#storage.sql, query);
  }

  stats(query: RunsQuery, group_by: GroupBy | null): PartitionStats {
    return collectStats(this.#storage.sql, query, group_by);
  }

  threads(query: RunsQuery): ThreadTotals[] {
    return collectThreads(this.#storage.sql, query);
  }

  traceTotals(): TraceTotals {
    return collectTraceTotals(this.#storage.sql);
  }

  get roots(): number {
    const rows = this.#storage.sql
      .exec<{ n: number }>("SELECT count(*) AS n FROM runs WHERE is_root = 1")
      .one();
    return rows.n;
  }

  deleteTraces(day: string, trace_ids: string[]): number {
    let gone = 0;
    this.change(() => {
      gone = deleteTraces(this.#storage.sql, { day, trace_ids }, this.leftovers);
      this.#counts.removeRows(gone, this.reads.range());
    });
    return gone;
  }

  /** Runs a change other than ingestion. Advances the sequence, which invalidates cached totals. */
  change(work: () => void): void {
    migrate(this.#storage, MIGRATIONS);
    this.#transaction(() => {
      this.#counts.nextSeq();
      work();
      this.#counts.save();
    });
  }

  /** Resets to the state of a partition that never existed. */
  reset(): void {
    this.#counts = new PartitionCounts(this.#storage);
  }

  #transaction(work: () => void): void {
    try {
      this.#storage.transactionSync(work);
    } catch (error) {
      this.#counts.restore();
      throw error;
    }
  }
}
