import { DurableObject } from "cloudflare:workers";
import type { GroupBy } from "../aggregates/matching-runs.ts";
import { countGroups, type SeriesQuery } from "../aggregates/series.ts";
import { collectStats, collectTraceTotals, noStats, noTraceTotals } from "../aggregates/stats.ts";
import { collectThreads } from "../aggregates/threads.ts";
import type { PartitionKey, RunChange } from "../changes.ts";
import type { Filter } from "../filter/tree.ts";
import type { ChangePosition } from "../reads/changed-runs.ts";
import type { RunsQuery } from "../reads/query.ts";
import {
  findCalled,
  findFarTraces,
  findTracesWith,
  type MetadataPair,
  readBelow,
} from "../reads/reads.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import type { RunReader, WhichTraces } from "../reads/run-reader.ts";
import type { ScanPlanPage } from "../reads/scan.ts";
import { listTrace, readSpans } from "../reads/spans.ts";
import type { ExpiryTier } from "../reads/tiers.ts";
import type { Columns, FeedbackRow } from "../rows/rows.ts";
import { ColdStorage } from "../storage/cold-storage.ts";
import type { FarParent } from "../storage/far-parents.ts";
import type { FeedbackPosition, FeedbackRowQuery, KeptFields } from "../storage/feedback.ts";
import { PartitionStore } from "../storage/partition.ts";
import type { SealAttempt, SealedContents, SealedRange } from "../storage/sealed-files.ts";
import { type ExpiryRequest, PartitionExpiry } from "./expiry.ts";
import { Flush } from "./flush.ts";
import { deleteRunsAndLinks } from "./leftovers.ts";
import { type PartitionPlan, PartitionReads, type PartitionScan } from "./partition-reads.ts";
import { PartitionSealing, type SealedLookup } from "./sealing.ts";

/**
 * Trace runs of one project on one UTC day, or a part of them: a trace has one slot in each generation, and new traces of a
 * full object belong to the next generation, which has more slots. Named `{project_id}/{day}/{slot}`.
 */
export class TracePartition extends DurableObject<Env> {
  readonly #store = new PartitionStore(this.ctx.storage);
  readonly #reads = new PartitionReads(this.#store, this.ctx.storage);
  readonly #expiry = new PartitionExpiry(this.#store, this.#reads);
  readonly #cold = new ColdStorage(this.env, this.ctx.storage, this.#store);
  readonly #flush = new Flush(this.env, this.ctx.storage, this.#store, this.#cold, () =>
    this.#reads.read(noTraceTotals(), collectTraceTotals),
  );
  readonly #sealing = new PartitionSealing(this.env, this.ctx.storage, this.#store, this.#flush);

  /** Applies changes. With `known_only`, and when full, skips runs that are not stored here and returns their ids. */
  async ingest(partition: PartitionKey, changes: RunChange[], known_only: boolean) {
    const ingest = () => this.#store.ingest(changes, known_only);
    return this.#flush.change(partition, ingest, ({ unknown }) => unknown.length < changes.length);
  }

  /** Places spans below runs of earlier days, and returns the runs that later days need. */
  async linkSpans(partition: PartitionKey, parents: FarParent[], known_only: boolean) {
    const link = () => this.#store.linkSpans(parents, known_only);
    return this.#flush.change(partition, link, () => this.#store.exists);
  }

  /** New runs belong to the next generation from now on. */
  async markFull(): Promise<void> {
    this.#store.markFull();
  }

  async hasRuns(ids: string[]): Promise<string[]> {
    return this.#store.exists ? this.#store.runs.storedIds(ids) : [];
  }

  /** Returns the runs of the first `read` ids: of all ids unless the runs are too large for one message. */
  async getRuns(ids: string[], columns: Columns): Promise<ReadRuns & { read: number }> {
    return this.#cold.attempt(() => this.#reads.getRuns(ids, columns));
  }

  /** Returns the traces with runs here whose roots started on another day. */
  async getFarTraces() {
    return this.#read([], findFarTraces);
  }

  async matchTraces(filter: Filter, project_id: string, which: WhichTraces): Promise<string[]> {
    return this.#read([], (reader) => [...reader.matchingTraces(filter, project_id, which)]);
  }

  /**
   * Returns one page and the newest sequence. As `max_seq` of the following pages, it excludes runs that are stored
   * later.
   */
  async findRuns(query: RunsQuery) {
    return this.#cold.attempt(() => this.#reads.findRuns(query));
  }

  /** Without a position, returns the newest one and no runs. */
  async findChanged(query: RunsQuery, after: ChangePosition | null) {
    return this.#cold.attempt(() => this.#reads.findChanged(query, after));
  }

  /** Lists runs of a trace that changed after a sequence. */
  async listTrace(trace_id: string, min_seq: number) {
    const { seq } = this.#store.counts.current;
    const nothing = { seq, exists: false, ids: [], called: [] };
    return this.#read(nothing, (reader) => ({ seq, ...listTrace(reader, trace_id, min_seq) }));
  }

  async readSpans(ids: string[], max_chars: number) {
    const nothing = { spans: [], read: ids.length };
    return this.#read(nothing, (reader) => readSpans(reader, ids, max_chars));
  }

  /** Plans up to `max_seq`, or up to the newest sequence, which it returns. */
  async planScan(query: PartitionPlan): Promise<ScanPlanPage & { max_seq: number }> {
    return this.#cold.attempt(() => this.#reads.planScan(query));
  }

  async scan(query: PartitionScan) {
    return this.#cold.attempt(() => this.#reads.scan(query));
  }

  async findSealed(range: SealedRange, owner: string): Promise<SealedLookup> {
    return this.#sealing.find(range, owner);
  }

  async beginSeal(partition: PartitionKey, range: SealedRange, attempt: SealAttempt) {
    return this.#sealing.begin(partition, range, attempt);
  }

  async commitSeal(id: string, contents: SealedContents): Promise<boolean> {
    return this.#sealing.commit(id, contents);
  }

  async getStats(query: RunsQuery, group_by: GroupBy | null) {
    return this.#read(noStats(), (reader) => collectStats(reader, query, group_by));
  }

  async getSeries(query: RunsQuery, request: SeriesQuery) {
    return this.#cold.attempt(() => this.#reads.getSeries(query, request));
  }

  async countGroups(query: RunsQuery, group_by: GroupBy) {
    return this.#read([], (reader) => countGroups(reader, query, group_by));
  }

  async getThreads(query: RunsQuery) {
    return this.#read([], (reader) => collectThreads(reader, query));
  }

  async getTraceTotals() {
    return this.#read(noTraceTotals(), collectTraceTotals);
  }

  async getRunsBelow(trace_id: string, run_id: string) {
    return this.#read([], (reader) => readBelow(reader, trace_id, run_id));
  }

  async putFeedback(partition: PartitionKey, rows: FeedbackRow[]): Promise<KeptFields[]> {
    return this.#flush.change(partition, () => this.#store.putFeedback(rows));
  }

  /** Stores a changed row. Returns `false` when the stored row has another body than `before`, or was deleted. */
  async replaceFeedback(
    partition: PartitionKey,
    before: string,
    row: FeedbackRow,
  ): Promise<boolean> {
    const replace = () => {
      const { exists, feedback } = this.#store;
      if (!exists || feedback.get(row.id)?.body !== before) return false;
      this.#store.putFeedback([row]);
      return true;
    };
    return this.#flush.change(partition, replace, (isReplaced) => isReplaced);
  }

  async getFeedback(id: string): Promise<FeedbackRow | null> {
    return this.#store.exists ? this.#store.feedback.get(id) : null;
  }

  async deleteFeedback(partition: PartitionKey, id: string): Promise<void> {
    await this.#flush.change(partition, () => this.#store.deleteFeedback(id));
  }

  /** Returns the traces in which a run has one of these pairs in its metadata. */
  async findTraces(pairs: MetadataPair[]): Promise<string[]> {
    return this.#read([], (reader) => findTracesWith(reader, pairs));
  }

  /** Returns the traces of agents that runs of this trace have called. */
  async findCalled(trace_id: string) {
    return this.#read([], (reader) => findCalled(reader, trace_id));
  }

  /** Returns runs below which other partitions place theirs, by ids of runs or of spans. */
  async findParents(span_ids: string[]) {
    return this.#store.findParents(span_ids);
  }

  /** Returns the number of deleted runs, 0 when none remain. The alarm deletes their leftovers. */
  async deleteTraces(partition: PartitionKey, trace_ids: string[]): Promise<number> {
    if (!this.#store.exists) return 0;
    const remove = () => this.#store.deleteTraces(partition.day, trace_ids);
    return this.#flush.change(partition, remove, (gone) => gone > 0);
  }

  async listExpiring(tier: ExpiryTier) {
    return this.#cold.attempt(() => this.#expiry.list(tier));
  }

  async findLonglived(trace_ids: string[] | null): Promise<string[]> {
    return this.#cold.attempt(() => this.#expiry.longlived(trace_ids));
  }

  /** Deletes a bounded number of runs, or all when all expire. */
  async expireTraces(partition: PartitionKey, request: ExpiryRequest) {
    const expire = () => this.#expiry.expire(partition.day, request);
    return this.#flush.change(partition, expire, (one) => one.runs > 0 || one.has_leftovers);
  }

  async getFeedbackRows(ids: string[]): Promise<FeedbackRow[]> {
    return this.#store.exists ? this.#store.feedback.byIds(ids) : [];
  }

  async listFeedback(query: FeedbackRowQuery): Promise<FeedbackPosition[]> {
    return this.#store.exists ? this.#store.feedback.list(query) : [];
  }

  /** Deletes first what only this object names: links in D1, sealed files and bodies in R2. */
  async deleteAll(partition: PartitionKey): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await deleteRunsAndLinks(this.env, partition, this.#store);
    await this.#sealing.removeAll();
    await this.ctx.storage.deleteAll();
    this.#store.reset();
    this.#flush.reset();
  }

  override async alarm(): Promise<void> {
    await this.#flush.run();
  }

  #read<T>(nothing: T, work: (reader: RunReader) => T): Promise<T> {
    return this.#cold.attempt(() => this.#reads.read(nothing, work));
  }
}
