import { isMigrated, migrate } from "../../shared/storage/object-tables.ts";
import type { RunChange } from "../changes.ts";
import type { FeedbackRow } from "../rows/rows.ts";
import { RunSet } from "../segments/run-set.ts";
import { SegmentStore } from "../segments/store.ts";
import { SegmentWriter } from "../segments/writer.ts";
import { ChangeBatch } from "./change-batch.ts";
import { PartitionCounts } from "./counts.ts";
import { deleteAllRuns, deleteTraces } from "./deletion.ts";
import { type FarParent, findFarParents } from "./far-parents.ts";
import { FeedbackTable, type KeptFields } from "./feedback.ts";
import { Leftovers } from "./leftovers.ts";
import { MIGRATIONS } from "./migrations.ts";
import { extendNext, runsOfMixedTraces, shortLivedRuns } from "./retention.ts";
import { SealedFiles } from "./sealed-files.ts";
import { findParents, type NamedParent, SpanLinks } from "./span-links.ts";

/**
 * `unknown`: ids of runs that were skipped, because they are not stored here. `far`: runs below which spans of later
 * days may belong. `rows`: number of runs of the partition.
 */
export type IngestResult = { unknown: string[]; far: FarParent[]; rows: number };

/** Key of the flag that the partition takes no new runs. */
const FULL = "is_full";

function tracesOfSpans(changes: RunChange[]): string[] {
  const traces = new Set<string>();
  for (const { span_ids, columns } of changes) {
    if (span_ids !== undefined && columns.trace_id !== undefined) traces.add(columns.trace_id);
  }
  return [...traces];
}

/** Storage of one partition: its runs, their feedback, and counts. */
export class PartitionStore {
  readonly feedback: FeedbackTable;
  readonly leftovers: Leftovers;
  readonly sealed: SealedFiles;
  readonly counts: PartitionCounts;
  readonly runs: RunSet;
  readonly segments: SegmentStore;
  readonly #storage: DurableObjectStorage;
  readonly #writer: SegmentWriter;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.segments = new SegmentStore(storage);
    this.runs = new RunSet(this.segments);
    this.leftovers = new Leftovers(storage.sql, this.runs);
    this.sealed = new SealedFiles(storage, this.leftovers);
    const unseal = () => this.sealed.drop();
    this.#writer = new SegmentWriter(storage, this.segments, unseal);
    this.feedback = new FeedbackTable(storage.sql, unseal);
    this.counts = new PartitionCounts(storage, () =>
      this.exists ? this.segments.newestCounts() : null,
    );
    if (this.exists) migrate(storage, MIGRATIONS);
  }

  get exists(): boolean {
    return isMigrated(this.#storage);
  }

  get bytes(): number {
    return this.#storage.sql.databaseSize;
  }

  /** Average size of a run's payloads. */
  get payloadBytes(): number {
    return this.segments.payloadBytes;
  }

  /**
   * Applies changes in one transaction. With `known_only`, and when the partition is full, skips runs that are not
   * stored here and returns their ids.
   */
  ingest(changes: RunChange[], known_only: boolean): IngestResult {
    if (!this.exists && known_only) {
      return { unknown: changes.map(({ id }) => id), far: [], rows: 0 };
    }
    migrate(this.#storage, MIGRATIONS);
    const isClosed = known_only || this.#storage.kv.get(FULL) === true;
    const unknown: string[] = [];
    this.#transaction((batch) => {
      const links = new SpanLinks(this.#storage.sql, batch);
      for (const change of changes) {
        if (isClosed && !batch.has(change.id)) unknown.push(change.id);
        else {
          const placed = links.place(change);
          batch.apply(placed);
          links.settle(placed);
        }
      }
      links.write();
      batch.write();
      this.leftovers.addArrivals(changes);
    });
    this.#extendTraces(runsOfMixedTraces(changes, this.runs, this.feedback));
    const far = findFarParents(this.#storage.sql, this.runs, tracesOfSpans(changes));
    return { unknown, far, rows: this.counts.current.rows };
  }

  /** Refuses new runs from now on. Has no effect on a deleted object, which must not be created again. */
  markFull(): void {
    if (this.exists && this.#storage.kv.get(FULL) === undefined) this.#storage.kv.put(FULL, true);
  }

  /** Returns runs as parents. An id may be one of the run, or of a span that the run has. */
  findParents(ids: string[]): NamedParent[] {
    if (!this.exists) return [];
    return findParents(this.#storage.sql, { byId: (id) => this.runs.byId(id) }, ids);
  }

  /**
   * Places spans below runs of earlier days. Returns the runs of this day that continue on a later one. With `known_only`,
   * creates no object.
   */
  linkSpans(parents: FarParent[], known_only: boolean): FarParent[] {
    if (known_only && !this.exists) return [];
    this.change((batch) => {
      const links = new SpanLinks(this.#storage.sql, batch);
      links.addFarParents(parents);
      links.write();
      batch.write();
    });
    const traces = parents.map(({ trace_id }) => trace_id);
    return findFarParents(this.#storage.sql, this.runs, traces);
  }

  deleteTraces(day: string, trace_ids: string[]): number {
    let count = 0;
    this.change(() => {
      const { runs, leftovers } = this;
      const deleted = deleteTraces(this.#storage.sql, { day, trace_ids }, { runs, leftovers });
      this.#writer.remove(new Set(deleted.map(({ id }) => id)));
      this.counts.remove(deleted, this.segments.range);
      count = deleted.length;
    });
    return count;
  }

  /** Deletes all runs at once: unlike the deletion of some runs, it writes no segment anew. */
  deleteAllRuns(): void {
    this.change(() => {
      deleteAllRuns(this.#storage.sql, this);
      this.#writer.removeAll();
      this.counts.removeAll();
    });
  }

  putFeedback(rows: FeedbackRow[]): KeptFields[] {
    let kept: KeptFields[] = [];
    this.change(() => {
      kept = rows.map((row) => this.feedback.put(row));
      this.leftovers.addFeedback(rows.map(({ id }) => id));
    });
    const ids = rows.map(({ run_id }) => run_id);
    this.#extendTraces([...this.feedback.extendedAmong(ids)]);
    return kept;
  }

  deleteFeedback(id: string): void {
    this.change(() => {
      if (this.feedback.delete(id)) this.leftovers.add("location", [id]);
    });
  }

  /** Merges some segments, which changes no run. See `SegmentWriter.mergeSmallBodies`. */
  mergeSmallBodies(until: number, min_bytes: number): boolean {
    return this.#atomic(() =>
      this.#writer.mergeSmallBodies(until, min_bytes, this.counts.toText()),
    );
  }

  /** Rewrites some segments, which changes no run. See `SegmentWriter.compact`. */
  compact(): boolean {
    return this.#atomic(() => this.#writer.compact(this.counts.toText()));
  }

  /** Runs a change other than ingestion. Advances the sequence, which invalidates cached totals. */
  change(work: (batch: ChangeBatch) => void): void {
    migrate(this.#storage, MIGRATIONS);
    this.#transaction((batch) => {
      work(batch);
      this.counts.save();
    });
  }

  /** Discards what is cached of the storage, after the storage was deleted or rolled back. */
  reset(): void {
    this.segments.reset();
    this.counts.reset();
  }

  /** Makes all short-lived runs of the traces of these runs long-lived. Large traces take several transactions. */
  #extendTraces(run_ids: string[]): void {
    const remaining = shortLivedRuns(this.runs, run_ids);
    while (remaining.length > 0) {
      this.change((batch) => {
        extendNext(batch, remaining);
        batch.write();
      });
    }
  }

  /** Rolls back when a body is missing that must be fetched from R2 first. */
  #transaction(work: (batch: ChangeBatch) => void): void {
    this.#atomic(() => {
      work(new ChangeBatch(this.segments, this.#writer, this.counts));
      this.segments.cold.assertComplete();
    });
  }

  /** Resets the memory after a failure: it may have changes that were rolled back. */
  #atomic<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      this.reset();
      throw error;
    }
  }
}
