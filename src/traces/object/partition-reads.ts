import { KeptSeries } from "../aggregates/kept-series.ts";
import type { SeriesCell, SeriesQuery } from "../aggregates/series.ts";
import { type ChangePosition, findChanged } from "../reads/changed-runs.ts";
import { FeedbackLookup } from "../reads/feedback-lookup.ts";
import type { RunsQuery } from "../reads/query.ts";
import { readByIds } from "../reads/reads.ts";
import { type ChangedRuns, NO_RUNS, type ReadRuns, type ScannedRows } from "../reads/run-pages.ts";
import { RunReader } from "../reads/run-reader.ts";
import { planPieces, type ScanPlanPage, type ScanPlanQuery } from "../reads/scan.ts";
import { type RowsQuery, readPage } from "../reads/scan-page.ts";
import type { Columns, Position, TraceRunRow } from "../rows/rows.ts";
import type { PartitionStore } from "../storage/partition.ts";

/**
 * `next`: where the search stopped before it had `limit` runs or all, else `null`. `seq`: newest change of the
 * partition.
 */
export type PartitionPage = ReadRuns & { next: Position | null; seq: number };

export type PartitionPlan = Omit<ScanPlanQuery, "max_seq"> & { max_seq: number | null };
export type PartitionScan = Omit<RowsQuery, "with_ids"> & { with_feedback: boolean };

/** Limit of the feedback of a page, unless it has one run only. A message of RPC holds 32 MiB. */
const MAX_FEEDBACK_BYTES = 8 * 1024 * 1024;

/** Reads runs of a partition with their feedback. */
export class PartitionReads {
  readonly #store: PartitionStore;
  readonly #sql: SqlStorage;
  readonly #series: KeptSeries;

  constructor(store: PartitionStore, { sql, kv }: DurableObjectStorage) {
    this.#store = store;
    this.#sql = sql;
    this.#series = new KeptSeries(kv, () => store.counts.current);
  }

  /** Returns `nothing` when the partition was never written. */
  read<T>(nothing: T, work: (reader: RunReader) => T): T {
    if (!this.#store.exists) return nothing;
    return work(new RunReader(this.#store.runs, new FeedbackLookup(this.#sql)));
  }

  /** Returns the runs of the first `read` ids. A full page leaves out the others. */
  getRuns(ids: string[], columns: Columns): ReadRuns & { read: number } {
    return this.read({ ...NO_RUNS, read: ids.length }, (reader) => {
      const { runs, read } = readByIds(reader, ids, columns);
      return { ...this.#withFeedback(runs), read };
    });
  }

  findRuns(query: RunsQuery): PartitionPage {
    const { seq } = this.#store.counts.current;
    return this.read<PartitionPage>({ ...NO_RUNS, next: null, seq }, (reader) => {
      const { rows, next } = reader.find(query);
      return { ...this.#withFeedback(rows), next, seq };
    });
  }

  findChanged(query: RunsQuery, after: ChangePosition | null): ChangedRuns {
    const { seq: newest } = this.#store.counts.current;
    const nothing = { ...NO_RUNS, runs: [], next: { seq: newest, row: null }, has_more: false };
    // Without a position the caller only learns where changes begin.
    if (after === null) return nothing;
    return this.read<ChangedRuns>(nothing, (reader) => {
      const changed = this.#store.runs.changedFrom(after.seq);
      const page = findChanged(reader, changed, query, { after, newest });
      return { ...this.#withFeedback(page.runs), ...page };
    });
  }

  getSeries(query: RunsQuery, request: SeriesQuery): SeriesCell[] {
    return this.read([], (reader) => this.#series.collect(reader, query, request));
  }

  planScan(query: PartitionPlan): ScanPlanPage & { max_seq: number } {
    const { seq } = this.#store.counts.current;
    const max_seq = query.max_seq ?? seq;
    // Nothing has changed since the scan that ended at `min_seq`.
    if (query.min_seq !== null && seq <= query.min_seq) return { pieces: [], next: null, max_seq };
    const plan = this.read<ScanPlanPage>({ pieces: [], next: null }, (reader) =>
      planPieces(reader, { ...query, max_seq }, this.#store.payloadBytes),
    );
    return { ...plan, max_seq };
  }

  scan({ with_feedback, ...query }: PartitionScan): ScannedRows {
    return this.read<ScannedRows>({ parts: [], next: null, annotations: null }, (reader) => {
      const with_ids = with_feedback && !this.#store.feedback.isEmpty;
      if (!with_ids) return { ...readPage(reader, { ...query, with_ids }), annotations: null };
      for (let { max_bytes } = query; ; ) {
        const page = readPage(reader, { ...query, with_ids, max_bytes });
        const ids = page.parts.flatMap((part) => part.ids);
        const bytes = this.#store.feedback.bytesOf(ids);
        if (bytes <= MAX_FEEDBACK_BYTES || ids.length === 1)
          return { ...page, annotations: this.#feedbackOf(ids) };
        max_bytes = Math.floor((max_bytes * MAX_FEEDBACK_BYTES) / bytes / 2);
      }
    });
  }

  #withFeedback(runs: TraceRunRow[]): ReadRuns {
    return { runs, ...this.#feedbackOf(runs.map(({ id }) => id)) };
  }

  #feedbackOf(ids: string[]): Omit<ReadRuns, "runs"> {
    const { feedback } = this.#store;
    return { feedback: feedback.statsOf(ids), values: feedback.valuesOf(ids) };
  }
}
