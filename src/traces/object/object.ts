import { DurableObject } from "cloudflare:workers";
import type { RunChange } from "../changes.ts";
import type { Compiled } from "../filter/compile.ts";
import type { RunsQuery } from "../reads/query.ts";
import type {
  Columns,
  FarTrace,
  FeedbackStat,
  FeedbackValue,
  MetadataPair,
  RunBelow,
} from "../reads/reads.ts";
import type { FeedbackRow, RunRow } from "../reads/rows.ts";
import type { Plan, PlanQuery } from "../reads/scan.ts";
import type { Read, ReadQuery } from "../reads/scan-page.ts";
import type { FeedbackQuery } from "../storage/feedback.ts";
import { PartitionStore } from "../storage/partition.ts";
import {
  type GroupBy,
  noStats,
  noTraceTotals,
  type PartitionStats,
  type TraceTotals,
} from "../storage/stats.ts";
import type { ThreadTotals } from "../storage/threads.ts";
import { writeCounts } from "./flush.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Key of a partition, in the object's name and in D1. */
export type Place = { project_id: string; day: string; slot: number };

/** Runs with their feedback. */
export type ReadRuns = {
  runs: RunRow[];
  feedback: (FeedbackStat & { run_id: string })[];
  values: (FeedbackValue & { run_id: string })[];
};

/** Page of a scan with feedback, `null` when there is none. */
export type ScannedRows = Read & { beside: Pick<ReadRuns, "feedback" | "values"> | null };

const FLUSH_MS = 1000;
/** Writes totals to the catalogue after this long without changes. */
const QUIET_MS = 60_000;
const PLACE = "place";
const NOTHING: ReadRuns = { runs: [], feedback: [], values: [] };

/** Trace runs of one project on one UTC day. Named `{project_id}/{day}/{slot}`. */
export class TracePartition extends DurableObject<Env> {
  #store = new PartitionStore(this.ctx.storage);
  #flushes = false;

  /**
   * Applies all changes or none. With `known_only`, returns ids of runs that are not stored here.
   */
  async ingest(place: Place, changes: RunChange[], known_only: boolean): Promise<string[]> {
    const unknown = this.#store.ingest(changes, known_only);
    if (unknown.length < changes.length) await this.#willFlush(place);
    return unknown;
  }

  async hasRuns(ids: string[]): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.has(ids) : [];
  }

  async getRuns(ids: string[], columns: Columns): Promise<ReadRuns> {
    if (!this.#store.exists) return NOTHING;
    const runs = this.#store.reads.byIds(ids, columns);
    return this.#withFeedback(runs);
  }

  async getFarTraces(): Promise<FarTrace[]> {
    return this.#store.exists ? this.#store.reads.far() : [];
  }

  async matchTraces(ids: string[], filter: Compiled, roots_only: boolean): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.matching(ids, filter, roots_only) : [];
  }

  /**
   * Returns one page and the newest sequence, which excludes later changes from following pages.
   */
  async findRuns(query: RunsQuery): Promise<ReadRuns & { seq: number }> {
    const { seq } = this.#store.counts.current;
    if (!this.#store.exists) return { ...NOTHING, seq };
    return { ...this.#withFeedback(this.#store.find(query)), seq };
  }

  /** Plans up to `max_seq`, or up to the newest sequence, which it returns. */
  async planScan(
    query: Omit<PlanQuery, "max_seq"> & { max_seq: number | null },
  ): Promise<Plan & { max_seq: number }> {
    const max_seq = query.max_seq ?? this.#store.counts.current.seq;
    if (!this.#store.exists) return { pieces: [], next: null, max_seq };
    return { ...this.#store.scan.plan({ ...query, max_seq }), max_seq };
  }

  async scan({
    with_feedback,
    ...query
  }: Omit<ReadQuery, "with_ids"> & { with_feedback: boolean }): Promise<ScannedRows> {
    const { exists, reads } = this.#store;
    if (!exists) return { parts: [], next: null, beside: null };
    if (!with_feedback || !reads.hasFeedback()) {
      return { ...this.#store.readPage({ ...query, with_ids: false }), beside: null };
    }
    const read = this.#store.readPage({ ...query, with_ids: true });
    const ids = read.parts.flatMap((part) => part.ids);
    const [feedback, values] = [reads.feedbackOf(ids), reads.feedbackValuesOf(ids)];
    return { ...read, beside: { feedback, values } };
  }

  async getStats(query: RunsQuery, group_by: GroupBy | null): Promise<PartitionStats> {
    return this.#store.exists ? this.#store.stats(query, group_by) : noStats();
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

  async putFeedback(place: Place, rows: FeedbackRow[]): Promise<void> {
    this.#store.change(() => {
      for (const row of rows) this.#store.feedback.put(row);
    });
    await this.#willFlush(place);
  }

  async getFeedback(id: string): Promise<FeedbackRow | null> {
    return this.#store.exists ? this.#store.feedback.get(id) : null;
  }

  async deleteFeedback(place: Place, id: string): Promise<void> {
    this.#store.change(() => {
      if (this.#store.feedback.delete(id)) this.#store.leftovers.add("location", [id]);
    });
    await this.#willFlush(place);
  }

  async findTraces(pairs: MetadataPair[]): Promise<string[]> {
    return this.#store.exists ? this.#store.reads.tracesWith(pairs) : [];
  }

  /** Returns the number of deleted runs, 0 when none remain. The alarm deletes their leftovers. */
  async deleteTraces(place: Place, trace_ids: string[]): Promise<number> {
    const gone = this.#store.exists ? this.#store.deleteTraces(place.day, trace_ids) : 0;
    if (gone > 0) await this.#willFlush(place);
    return gone;
  }

  async listFeedback(query: FeedbackQuery): Promise<FeedbackRow[]> {
    return this.#store.exists ? this.#store.feedback.list(query) : [];
  }

  async deleteAll(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store.reset();
  }

  override async alarm(): Promise<void> {
    this.#flushes = false;
    const place = this.ctx.storage.kv.get<Place>(PLACE);
    if (!place || !this.#store.exists) return;
    const { bytes, roots, counts } = this.#store;
    const { seq } = counts.current;
    const isQuiet = Date.now() - seq / 1000 >= QUIET_MS;
    const stats = isQuiet ? this.#store.traceTotals() : null;
    await writeCounts(this.env, place, { ...counts.current, seq, bytes, roots }, stats);
    const isClean = await removeLeftovers(this.env, place, this.#store.leftovers);
    if (this.#flushes || (isQuiet && isClean)) return;
    await this.ctx.storage.setAlarm(Date.now() + (isClean ? QUIET_MS : FLUSH_MS));
  }

  #withFeedback(runs: RunRow[]): ReadRuns {
    const ids = runs.map(({ id }) => id);
    const { reads } = this.#store;
    return { runs, feedback: reads.feedbackOf(ids), values: reads.feedbackValuesOf(ids) };
  }

  /** Sets the alarm without an await before it, so that it commits with the rows. */
  async #willFlush(place: Place): Promise<void> {
    if (this.#flushes) return;
    this.#flushes = true;
    this.ctx.storage.kv.put(PLACE, place);
    await this.ctx.storage.setAlarm(Date.now() + FLUSH_MS);
  }
}
