import type { TraceOp } from "../../../../isolate/trace-contract.ts";
import { charactersOfRow, type TraceRow } from "../boundary/trace-texts.ts";
import { type CarriedTraces, canCarry } from "../log/carried-traces.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import { OutboxTable } from "../log/outbox-table.ts";
import type { Parts } from "../log/parts.ts";
import type { TraceMark } from "../log/trace-mark.ts";
import { fromOutboxRow, MAX_ROW_CHARACTERS, MAX_ROW_OPS, toOutboxRows } from "../log/trace-rows.ts";
import type { Runs } from "./runs.ts";
import { advanceTrace, type OpenTrace } from "./trace-roots.ts";

/** End of a page: the last row of events, and the last row of the outbox. */
type Position = { event: number; seq: number };
type OutboxPage = {
  last: Position;
  rows: TraceRow[];
  parts: string[];
  isLast: boolean;
  /** `CarriedTraces.changes` when the page was read. */
  changes: number;
};
type Entry = { rows: TraceRow[]; at: Partial<Position>; part: string | null };

/** Approximate limit of the traces of a deleted thread, which are in memory until they are delivered. */
const MAX_PAGES_CHARACTERS = 8 * 1024 * 1024;

/**
 * The outbox of trace operations, and the traces that are not complete. Short operations are in the rows of the
 * events of their batch, the others in `trace_outbox`.
 */
export class Traces {
  readonly #outbox: OutboxTable;
  readonly #runs: Runs;
  readonly #mark: TraceMark;
  readonly #carried: CarriedTraces;
  #hasPending: boolean | null = null;
  /** Whether operations were added since `page` was called. */
  #isDirty = false;

  constructor(
    tables: ThreadTables,
    parts: Parts,
    { runs, mark, carried }: { runs: Runs; mark: TraceMark; carried: CarriedTraces },
  ) {
    this.#outbox = new OutboxTable(tables, parts);
    this.#runs = runs;
    this.#mark = mark;
    this.#carried = carried;
  }

  /** @returns `null` when the trace is complete or the run does not exist */
  getOpen(run_id: string): OpenTrace | null {
    const text = this.#runs.trace(run_id);
    return text === null ? null : JSON.parse(text);
  }

  setOpen(run_id: string, trace: OpenTrace) {
    this.#runs.setTrace(run_id, JSON.stringify(trace));
  }

  close(run_id: string) {
    this.#runs.setTrace(run_id, null);
  }

  /** Adds operations to the outbox: they have no batch of events, or do not fit its row. */
  append(run_id: string, traces: TraceOp[]) {
    if (traces.length === 0) return;
    const trace = this.getOpen(run_id);
    if (trace) this.setOpen(run_id, advanceTrace(run_id, trace, traces));
    for (const row of toOutboxRows(traces)) this.#outbox.insert(JSON.stringify(row));
    this.#added();
  }

  /**
   * Adds operations of a run in flight, which the caller writes into the new row `event`.
   * @returns the text to carry, `null` without operations and when they do not fit one row
   */
  carry(run_id: string, traces: TraceOp[], event: number): string | null {
    const text = toCarried(traces);
    if (text !== null) this.#advance(run_id, traces, event);
    return text;
  }

  /** Adds operations to the newest row of events, `event`. @returns the row's new column, `null` when it has no room */
  extend(run_id: string, traces: TraceOp[], event: number): Uint8Array | null {
    const text = toCarried(traces);
    if (text === null) return null;
    const column = this.#carried.extend(event, text, this.#mark.event ?? 0);
    if (column) this.#advance(run_id, traces, event);
    return column;
  }

  #advance(run_id: string, traces: TraceOp[], event: number) {
    const trace = this.getOpen(run_id);
    const next = trace && JSON.stringify(advanceTrace(run_id, trace, traces));
    this.#runs.queue.advance(run_id, { trace: next });
    this.#mark.precede(event);
    this.#added();
  }

  #added() {
    this.#hasPending = true;
    this.#isDirty = true;
  }

  get hasPending(): boolean {
    this.#hasPending ??= this.#readPending();
    return this.#hasPending;
  }

  #readPending(): boolean {
    const sent_event_id = this.#mark.event;
    if (!this.#outbox.isEmpty) return true;
    return sent_event_id !== null && this.#carried.hasAfter(sent_event_id);
  }

  /** Returns the first undelivered operations, up to the limits of a delivery. */
  page(): OutboxPage {
    const page = this.#pageAfter(this.#sent);
    this.#isDirty = false;
    return page;
  }

  get #sent(): Position {
    return { event: this.#mark.event ?? 0, seq: 0 };
  }

  #pageAfter(after: Position): OutboxPage {
    const { changes } = this.#carried;
    const page: OutboxPage = { last: after, rows: [], parts: [], isLast: true, changes };
    let characters = 0;
    for (const { rows, at, part } of this.#entries(after)) {
      characters += rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
      const isFull =
        characters > MAX_ROW_CHARACTERS || page.rows.length + rows.length > MAX_ROW_OPS;
      page.isLast = page.rows.length === 0 || !isFull;
      if (!page.isLast) break;
      page.rows.push(...rows);
      page.last = { ...page.last, ...at };
      if (part !== null) page.parts.push(part);
    }
    return page;
  }

  // Carried operations precede those of the outbox: ingestion merges them in any order.
  *#entries({ event, seq: after }: Position): Iterable<Entry> {
    for (const { last_id, texts } of this.#carriedAfter(event)) {
      yield { rows: texts.flatMap(toRows), at: { event: last_id }, part: null };
    }
    for (const { seq, text, part } of this.#outbox.after(after)) {
      yield { rows: toRows(text), at: { seq }, part };
    }
  }

  #carriedAfter(event: number, run_id: string | null = null) {
    return this.#mark.event === null ? [] : this.#carried.after(event, run_id);
  }

  /** Returns pages for a thread that is being deleted, up to a limit of memory. `isWhole`: no rows are left out. */
  pages(): { pages: TraceRow[][]; isWhole: boolean } {
    const pages: TraceRow[][] = [];
    let characters = 0;
    let page = this.#pageAfter(this.#sent);
    for (; page.rows.length > 0; page = this.#pageAfter(page.last)) {
      if (characters > MAX_PAGES_CHARACTERS) return { pages, isWhole: false };
      pages.push(page.rows);
      characters += page.rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
    }
    return { pages, isWhole: true };
  }

  /** Removes the page that `page` has returned, once ingestion has stored it. */
  remove({ last, parts, isLast, changes }: OutboxPage) {
    this.#outbox.deleteUpTo(last.seq, parts);
    // The newest row may have more operations since the page was read.
    const sent_event_id = changes === this.#carried.changes ? last.event : last.event - 1;
    this.#mark.advance(sent_event_id, { now: this.#runs.queue.isEmpty });
    this.#carried.forgetSent(sent_event_id);
    this.#hasPending = isLast && !this.#isDirty ? false : null;
  }

  /** Copies the undelivered operations in a run's events to the outbox: the events are about to be deleted. */
  keepOf(run_id: string) {
    const rows = [...this.#carriedAfter(this.#mark.event ?? 0, run_id)];
    for (const text of rows.flatMap(({ texts }) => texts)) this.#outbox.insert(text);
    if (rows.length > 0) this.#added();
  }

  /** Skips the first read: the tables are empty. */
  startEmpty() {
    this.#hasPending = false;
  }

  clearCache() {
    this.#hasPending = null;
    this.#carried.clearCache();
  }
}

/** @returns `null` for operations that take more than a row of events may carry */
function toCarried(traces: TraceOp[]): string | null {
  const [row, ...others] = toOutboxRows(traces);
  if (!row || others.length > 0) return null;
  const text = JSON.stringify(row);
  return canCarry([text]) ? text : null;
}

function toRows(text: string): TraceRow[] {
  return fromOutboxRow(JSON.parse(text));
}
