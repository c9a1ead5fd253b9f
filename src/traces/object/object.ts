import { DurableObject } from "cloudflare:workers";
import type { PartitionKey, RunChange } from "../changes.ts";
import type { CompiledFilter } from "../filter/compile.ts";
import { type ChangedPage, type ChangePosition, findChanged } from "../reads/changed-runs.ts";
import type { RunsQuery } from "../reads/query.ts";
import type {
  Columns,
  FarTrace,
  FeedbackStat,
  FeedbackValue,
  MetadataPair,
  RunBelow,
} from "../reads/reads.ts";
import type { FeedbackRow, TraceRunRow } from "../reads/rows.ts";
import type { ScanPlanPage, ScanPlanQuery } from "../reads/scan.ts";
import type { RowsPage, RowsQuery } from "../reads/scan-page.ts";
import { listTrace, readSpans, type SpanPage, type TraceListing } from "../reads/spans.ts";
import type { FeedbackPosition, FeedbackRowQuery } from "../storage/feedback.ts";
import type { GroupBy } from "../storage/matching-runs.ts";
import { PartitionStore } from "../storage/partition.ts";
import {
  collectSeries,
  countGroups,
  type GroupCount,
  type SeriesCell,
  type SeriesQuery,
} from "../storage/series.ts";
import { noStats, noTraceTotals, type PartitionStats, type TraceTotals } from "../storage/stats.ts";
import type { ThreadTotals } from "../storage/threads.ts";
import { writeCounts } from "./flush.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Runs with their feedback. */
export type ReadRuns = {
  runs: TraceRunRow[];
  feedback: (FeedbackStat & { run_id: string })[];
  values: (FeedbackValue & { run_id: string })[];
};

/** Page of changed runs with their feedback. */
export type ChangedRuns = Omit<ReadRuns, "runs"> & ChangedPage;

/** Page of a scan with feedback, `null` when there is none. */
export type ScannedRows = RowsPage & { annotations: Pick<ReadRuns, "feedback" | "values"> | null };

const FLUSH_MS = 1000;
/** Writes totals to the catalogue after this long without changes. */
const QUIET_MS = 60_000;
const KEY = "partition";
const NO_RUNS: ReadRuns = { runs: [], feedback: [], values: [] };

/** Trace runs of one project on one UTC day. Named `{project_id}/{day}/{slot}`. */
export class TracePartition extends DurableObject<Env> {
  #store = new PartitionStore(this.ctx.storage);
  #isFlushScheduled = false;

  /**
   * Applies all changes or none. With `known_only`, returns ids of runs that are not stored here.
   */
  async ingest(
    partition: PartitionKey,
    changes: RunChange[],
    known_only: boolean,
  ): Promise<string[]> {
    const unknown = this.#store.ingest(changes, known_only);
    if (unknown.length < changes.length) await this.#scheduleFlush(partition);
    return unknown;
  }

  async hasRuns(ids: string[]): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.has(ids) : [];
  }

  /** Returns the runs of the first `read` ids: all unless their columns are large. */
  async getRuns(ids: string[], columns: Columns): Promise<ReadRuns & { read: number }> {
    if (!this.#store.exists) return { ...NO_RUNS, read: ids.length };
    const { runs, read } = this.#store.reads.byIds(ids, columns);
    return { ...this.#withFeedback(runs), read };
  }

  async getFarTraces(): Promise<FarTrace[]> {
    return this.#store.exists ? this.#store.reads.far() : [];
  }

  async matchTraces(ids: string[], filter: CompiledFilter, roots_only: boolean): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.matching(ids, filter, roots_only) : [];
  }

  /**
   * Returns one page and the newest sequence, which excludes later changes from following pages.
   */
  async findRuns(query: RunsQuery): Promise<ReadRuns & { seq: number }> {
    const { seq } = this.#store.counts.current;
    if (!this.#store.exists) return { ...NO_RUNS, seq };
    return { ...this.#withFeedback(this.#store.find(query)), seq };
  }

  /** Without a position, returns the newest one and no runs. */
  async findChanged(query: RunsQuery, after: ChangePosition | null): Promise<ChangedRuns> {
    const { seq } = this.#store.counts.current;
    if (after === null || !this.#store.exists) {
      return { runs: [], feedback: [], values: [], next: { seq, row: null }, has_more: false };
    }
    const page = findChanged(this.ctx.storage.sql, query, after, seq);
    return { ...this.#withFeedback(page.runs), ...page };
  }

  /** Lists rows of a trace that changed after a sequence. */
  async listTrace(trace_id: string, min_seq: number): Promise<TraceListing> {
    const { seq } = this.#store.counts.current;
    if (!this.#store.exists) return { seq, exists: false, rows: [] };
    return { seq, ...listTrace(this.ctx.storage.sql, trace_id, min_seq) };
  }

  async readSpans(rows: number[]): Promise<SpanPage> {
    return readSpans(this.ctx.storage.sql, rows);
  }

  /** Plans up to `max_seq`, or up to the newest sequence, which it returns. */
  async planScan(
    query: Omit<ScanPlanQuery, "max_seq"> & { max_seq: number | null },
  ): Promise<ScanPlanPage & { max_seq: number }> {
    const max_seq = query.max_seq ?? this.#store.counts.current.seq;
    if (!this.#store.exists) return { pieces: [], next: null, max_seq };
    return { ...this.#store.scan.plan({ ...query, max_seq }), max_seq };
  }

  async scan({
    with_feedback,
    ...query
  }: Omit<RowsQuery, "with_ids"> & { with_feedback: boolean }): Promise<ScannedRows> {
    const { exists, reads } = this.#store;
    if (!exists) return { parts: [], next: null, annotations: null };
    if (!with_feedback || !reads.hasFeedback()) {
      return { ...this.#store.readPage({ ...query, with_ids: false }), annotations: null };
    }
    const read = this.#store.readPage({ ...query, with_ids: true });
    const ids = read.parts.flatMap((part) => part.ids);
    const [feedback, values] = [reads.feedbackOf(ids), reads.feedbackValuesOf(ids)];
    return { ...read, annotations: { feedback, values } };
  }

  async getStats(query: RunsQuery, group_by: GroupBy | null): Promise<PartitionStats> {
    return this.#store.exists ? this.#store.stats(query, group_by) : noStats();
  }

  async getSeries(query: RunsQuery, request: SeriesQuery): Promise<SeriesCell[]> {
    return this.#store.exists ? collectSeries(this.ctx.storage.sql, query, request) : [];
  }

  async countGroups(query: RunsQuery, group_by: GroupBy): Promise<GroupCount[]> {
    return this.#store.exists ? countGroups(this.ctx.storage.sql, query, group_by) : [];
  }

  async getThreads(query: RunsQuery): Promise<ThreadTotals[]> {
    return this.#store.exists ? this.#store.threads(query) : [];
  }

  async getTraceTotals(): Promise<TraceTotals> {
    return this.#store.exists ? this.#store.traceTotals() : noTraceTotals();
  }

  async getRunsBelow(trace_id: string, run_id: string): Promise<RunBelow[]> {
    return this.#store.exists ? this.#store.reads.below(trace_id, run_id) : [];
  }

  async putFeedback(partition: PartitionKey, rows: FeedbackRow[]): Promise<void> {
    this.#store.change(() => {
      for (const row of rows) this.#store.feedback.put(row);
    });
    await this.#scheduleFlush(partition);
  }

  async getFeedback(id: string): Promise<FeedbackRow | null> {
    return this.#store.exists ? this.#store.feedback.get(id) : null;
  }

  async deleteFeedback(partition: PartitionKey, id: string): Promise<void> {
    this.#store.change(() => {
      if (this.#store.feedback.delete(id)) this.#store.leftovers.add("location", [id]);
    });
    await this.#scheduleFlush(partition);
  }

  async findTraces(pairs: MetadataPair[]): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.tracesWith(pairs) : [];
  }

  /** Returns the number of deleted runs, 0 when none remain. The alarm deletes their leftovers. */
  async deleteTraces(partition: PartitionKey, trace_ids: string[]): Promise<number> {
    const gone = this.#store.exists ? this.#store.deleteTraces(partition.day, trace_ids) : 0;
    if (gone > 0) await this.#scheduleFlush(partition);
    return gone;
  }

  async getFeedbackRows(ids: string[]): Promise<FeedbackRow[]> {
    return this.#store.exists ? this.#store.feedback.byIds(ids) : [];
  }

  async listFeedback(query: FeedbackRowQuery): Promise<FeedbackPosition[]> {
    return this.#store.exists ? this.#store.feedback.list(query) : [];
  }

  async deleteAll(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store.reset();
  }

  override async alarm(): Promise<void> {
    this.#isFlushScheduled = false;
    const partition = this.ctx.storage.kv.get<PartitionKey>(KEY);
    if (!partition || !this.#store.exists) return;
    const { bytes, roots, counts } = this.#store;
    const { seq } = counts.current;
    const isQuiet = Date.now() - seq / 1000 >= QUIET_MS;
    const stats = isQuiet ? this.#store.traceTotals() : null;
    await writeCounts(this.env, partition, { ...counts.current, seq, bytes, roots }, stats);
    const isClean = await removeLeftovers(this.env, partition, this.#store.leftovers);
    if (this.#isFlushScheduled || (isQuiet && isClean)) return;
    await this.ctx.storage.setAlarm(Date.now() + (isClean ? QUIET_MS : FLUSH_MS));
  }

  #withFeedback(runs: TraceRunRow[]): ReadRuns {
    const ids = runs.map(({ id }) => id);
    const { reads } = this.#store;
    return { runs, feedback: reads.feedbackOf(ids), values: reads.feedbackValuesOf(ids) };
  }

  /** Sets the alarm without an await before it, so that it commits with the rows. */
  async #scheduleFlush(partition: PartitionKey): Promise<void> {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    this.ctx.storage.kv.put(KEY, partition);
    await this.ctx.storage.setAlarm(Date.now() + FLUSH_MS);
  }
}
