import type { TraceOp } from "../../isolate/contract.ts";
import { advanceTrace, type OpenTrace } from "../trace-roots.ts";
import { insertRows } from "./insert.ts";
import { PART_BYTES, type Parts } from "./parts.ts";
import type { Runs } from "./runs.ts";

export type TraceRow = Pick<TraceOp, "kind" | "data">;
type Page = { last_seq: number; rows: TraceRow[]; hasParts: boolean; isLast: boolean };

// Of one delivery: parsed beside what else the object holds.
const PAGE_ROWS = 200;
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** What runs told of their traces and ingestion has not taken yet; and the traces that are open. */
export class Traces {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #runs: Runs;
  #areWaiting: boolean | null = null;
  /** Since the last page was read. */
  #hasNews = false;

  constructor(sql: SqlStorage, parts: Parts, runs: Runs) {
    this.#sql = sql;
    this.#parts = parts;
    this.#runs = runs;
  }

  /** Null: all of it is told, or the run is gone. */
  of(run_id: string): OpenTrace | null {
    const text = this.#runs.trace(run_id);
    return text === null ? null : JSON.parse(text);
  }

  /** Null closes it. */
  keep(run_id: string, trace: OpenTrace | null) {
    this.#runs.setTrace(run_id, trace && JSON.stringify(trace));
  }

  append(run_id: string, traces: TraceOp[]) {
    if (traces.length === 0) return;
    const trace = this.of(run_id);
    if (trace) this.keep(run_id, advanceTrace(run_id, trace, traces));
    if (traces.every(({ data }) => isSmall(data))) this.#insert(traces);
    else for (const one of traces) this.#insertAny(one);
    this.#areWaiting = true;
    this.#hasNews = true;
  }

  #insert(traces: TraceOp[]) {
    const rows = traces.map(({ kind, data }) => [kind, data]);
    insertRows(this.#sql, "INSERT INTO trace_outbox (kind, data)", rows);
  }

  #insertAny({ kind, data }: TraceOp) {
    const { seq } = this.#sql
      .exec<{ seq: number }>(
        "INSERT INTO trace_outbox (kind, data) VALUES (?, ?) RETURNING seq",
        kind,
        isSmall(data) ? data : null,
      )
      .one();
    if (!isSmall(data)) this.#parts.put(partName(seq), data);
  }

  get areWaiting(): boolean {
    this.#areWaiting ??=
      this.#sql
        .exec<{ waiting: number }>("SELECT EXISTS(SELECT 1 FROM trace_outbox) AS waiting")
        .one().waiting === 1;
    return this.#areWaiting;
  }

  /** What comes behind a row, as much as one delivery takes. */
  page(after = 0): Page {
    const found = this.#sql.exec<{ seq: number; kind: TraceOp["kind"]; data: string | null }>(
      "SELECT seq, kind, data FROM trace_outbox WHERE seq > ? ORDER BY seq LIMIT ?",
      after,
      PAGE_ROWS,
    );
    const page: Page = { last_seq: after, rows: [], hasParts: false, isLast: true };
    let characters = 0;
    for (const { seq, kind, data: column } of found) {
      const data = this.#parts.text(partName(seq), column);
      page.rows.push({ kind, data });
      page.last_seq = seq;
      page.hasParts ||= column === null;
      characters += data.length;
      page.isLast = characters <= PAGE_CHARACTERS && page.rows.length < PAGE_ROWS;
      if (!page.isLast) break;
    }
    this.#hasNews = false;
    return page;
  }

  /** All of it, for a thread that goes away. */
  pages(): TraceRow[][] {
    const pages: TraceRow[][] = [];
    for (let page = this.page(); page.rows.length > 0; page = this.page(page.last_seq)) {
      pages.push(page.rows);
    }
    return pages;
  }

  /** A page that was read last, and is durable elsewhere. */
  remove({ last_seq, hasParts, isLast }: Page) {
    if (hasParts) this.#parts.deleteNumbered(PART_PREFIX, last_seq);
    this.#sql.exec("DELETE FROM trace_outbox WHERE seq <= ?", last_seq);
    this.#areWaiting = isLast && !this.#hasNews ? false : null;
  }

  /** The tables are new: there is nothing to read. */
  startEmpty() {
    this.#areWaiting = false;
  }

  forget() {
    this.#areWaiting = null;
  }
}

// Three bytes are the most that one UTF-16 unit takes in UTF-8.
function isSmall(data: string): boolean {
  return data.length * 3 <= PART_BYTES;
}

const PART_PREFIX = "trace ";

function partName(seq: number): string {
  return `${PART_PREFIX}${seq}`;
}
