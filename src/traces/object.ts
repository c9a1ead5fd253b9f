import { DurableObject } from "cloudflare:workers";
import type { RunChange } from "./changes.ts";
import type { Compiled } from "./filter/compile.ts";
import { writeCounts } from "./flush.ts";
import type { FeedbackQuery } from "./storage/feedback.ts";
import { PartitionStore } from "./storage/partition.ts";
import type { RunsQuery } from "./storage/query.ts";
import type { Columns, FarTrace, FeedbackStat, FeedbackValue } from "./storage/reads.ts";
import type { FeedbackRow, RunRow } from "./storage/rows.ts";

/** Which partition an object is; D1 knows it by the same three. */
export type Place = { project_id: string; day: string; slot: number };

/** Runs with what is kept beside their rows. */
export type ReadRuns = {
  runs: RunRow[];
  feedback: (FeedbackStat & { run_id: string })[];
  values: (FeedbackValue & { run_id: string })[];
};

const FLUSH_MS = 1000;
const PLACE = "place";
const NOTHING: ReadRuns = { runs: [], feedback: [], values: [] };

/** One project's trace runs of one UTC day. Named `{project_id}/{day}/{slot}`. */
export class TracePartition extends DurableObject<Env> {
  #store = new PartitionStore(this.ctx.storage);
  #flushes = false;

  /** All or none. The ids of those that are not here, when only known runs are to change. */
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

  /** One page, and the newest sequence there is: what comes later is not part of the pages that follow. */
  async findRuns(query: RunsQuery): Promise<ReadRuns & { seq: number }> {
    const { seq } = this.#store.counts.current;
    if (!this.#store.exists) return { ...NOTHING, seq };
    return { ...this.#withFeedback(this.#store.find(query)), seq };
  }

  /** Each run below the one, and its parent. */
  async getRunsBelow(
    trace_id: string,
    run_id: string,
  ): Promise<{ id: string; parent_run_id: string | null }[]> {
    return this.#store.exists ? this.#store.reads.below(trace_id, run_id) : [];
  }

  async putFeedback(rows: FeedbackRow[]): Promise<void> {
    this.#store.transaction(() => {
      for (const row of rows) this.#store.feedback.put(row);
    });
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
    const counts = { ...this.#store.counts.current };
    await writeCounts(this.env, place, counts, this.#store.bytes);
  }

  #withFeedback(runs: RunRow[]): ReadRuns {
    const ids = runs.map(({ id }) => id);
    const { reads } = this.#store;
    return { runs, feedback: reads.feedbackOf(ids), values: reads.feedbackValuesOf(ids) };
  }

  /** No await before the alarm: it is durable with the rows, and the catalogue will hear of them. */
  async #willFlush(place: Place): Promise<void> {
    if (this.#flushes) return;
    this.#flushes = true;
    this.ctx.storage.kv.put(PLACE, place);
    await this.ctx.storage.setAlarm(Date.now() + FLUSH_MS);
  }
}
