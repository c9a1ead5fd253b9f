import type { TraceOp, TraceText } from "../../../isolate/contract.ts";
import { charactersOfRow, joinText, mapTexts, type TraceRow } from "../boundary/trace-texts.ts";
import { insertRows } from "../log/insert.ts";
import { PART_BYTES, type Parts } from "../log/parts.ts";
import type { Runs } from "./runs.ts";
import { advanceTrace, type OpenTrace } from "./trace-roots.ts";

/** Where a row's text is: a part, or what a part has of it and what stands around that. */
type KeptText = { part: string | null; before: string; from: number; chars: number; rest: string };
type Row = { seq: number; kind: TraceOp["kind"]; data: string | null; texts: string | null };
type Page = { last_seq: number; rows: TraceRow[]; hasParts: boolean; isLast: boolean };

// Of one delivery: parsed beside what else the object holds.
const PAGE_ROWS = 200;
const PAGE_CHARACTERS = 4 * 1024 * 1024;
const MAX_PAGES_CHARACTERS = 8 * 1024 * 1024;

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
    if (traces.every(({ data, texts }) => isSmall(data) && !texts)) this.#insert(traces);
    else this.#insertLong(traces);
    this.#areWaiting = true;
    this.#hasNews = true;
  }

  #insert(traces: TraceOp[]) {
    const rows = traces.map(({ kind, data }) => [kind, data]);
    insertRows(this.#sql, "INSERT INTO trace_outbox (kind, data)", rows);
  }

  /** Parts that many rows have need the number of the last one: they go with it. */
  #insertLong(traces: TraceOp[]) {
    const first = this.#lastSeq() + 1;
    const last = first + traces.length - 1;
    const parts = new Map<number, string>();
    const keep = (told: TraceText): KeptText => {
      if (!("id" in told)) {
        const { of, before, from, chars, rest } = told;
        return { part: parts.get(of) ?? null, before, from, chars, rest };
      }
      const part = `${last} ${parts.size}`;
      parts.set(told.id, part);
      this.#parts.keep(partName(part), told.text);
      return { part, before: "", from: 0, chars: told.text.length, rest: "" };
    };
    const rows = traces.map(({ kind, data, texts }, n) => {
      const seq = first + n;
      if (!isSmall(data)) this.#parts.keep(partName(seq), data);
      const kept = texts && JSON.stringify(mapTexts(texts, keep));
      return [seq, kind, isSmall(data) ? data : null, kept ?? null];
    });
    insertRows(this.#sql, "INSERT INTO trace_outbox (seq, kind, data, texts)", rows);
  }

  /** The greatest that there ever was. */
  #lastSeq(): number {
    const [row] = this.#sql
      .exec<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'trace_outbox'")
      .toArray();
    return row?.seq ?? 0;
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
    const found = this.#sql.exec<Row>(
      "SELECT seq, kind, data, texts FROM trace_outbox WHERE seq > ? ORDER BY seq LIMIT ?",
      after,
      PAGE_ROWS,
    );
    const page: Page = { last_seq: after, rows: [], hasParts: false, isLast: true };
    const wholes = new Map<string, string>();
    let characters = 0;
    for (const stored of found) {
      const row = this.#toRow(stored, wholes);
      page.rows.push(row);
      page.last_seq = stored.seq;
      page.hasParts ||= stored.data === null || stored.texts !== null;
      characters += charactersOfRow(row);
      page.isLast = characters <= PAGE_CHARACTERS && page.rows.length < PAGE_ROWS;
      if (!page.isLast) break;
    }
    this.#hasNews = false;
    return page;
  }

  /** `wholes`: parts that were read before. */
  #toRow({ seq, kind, data, texts }: Row, wholes: Map<string, string>): TraceRow {
    const join = ({ part, ...text }: KeptText) => {
      const whole =
        part === null ? "" : (wholes.get(part) ?? this.#parts.text(partName(part), null));
      if (part !== null) wholes.set(part, whole);
      return joinText(text, whole);
    };
    const kept = texts === null ? {} : JSON.parse(texts);
    return { kind, data: this.#parts.text(partName(seq), data), texts: mapTexts(kept, join) };
  }

  /** Pages for a thread that is being deleted, as many as memory takes; `isWhole`: nothing else waits. */
  pages(): { pages: TraceRow[][]; isWhole: boolean } {
    const pages: TraceRow[][] = [];
    let characters = 0;
    for (let page = this.page(); page.rows.length > 0; page = this.page(page.last_seq)) {
      if (characters > MAX_PAGES_CHARACTERS) return { pages, isWhole: false };
      pages.push(page.rows);
      characters += page.rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
    }
    return { pages, isWhole: true };
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

/** By its row, or for texts of many rows by the last of them and a number. */
function partName(name: number | string): string {
  return `${PART_PREFIX}${name}`;
}
