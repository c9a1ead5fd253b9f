import type { TraceOp, TraceText } from "../../../isolate/contract.ts";
import { charactersOfRow, joinText, mapTexts, type TraceRow } from "../boundary/trace-texts.ts";
import { insertRows } from "../log/insert.ts";
import { PART_BYTES, type Parts } from "../log/parts.ts";
import type { Runs } from "./runs.ts";
import { advanceTrace, type OpenTrace } from "./trace-roots.ts";

/** A text as a slice of a part, with the text before and after it. */
type StoredText = {
  part: string | null;
  before: string;
  from: number;
  chars: number;
  rest: string;
};
type OutboxRow = { seq: number; kind: TraceOp["kind"]; data: string | null; texts: string | null };
type OutboxPage = { last_seq: number; rows: TraceRow[]; hasParts: boolean; isLast: boolean };

// Limits of a delivery, whose parsed texts share the memory of the object.
const PAGE_ROWS = 200;
const PAGE_CHARACTERS = 4 * 1024 * 1024;
const MAX_PAGES_CHARACTERS = 8 * 1024 * 1024;

/** The outbox of trace operations, and the traces that are not complete. */
export class Traces {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #runs: Runs;
  #hasPending: boolean | null = null;
  /** Whether rows were added since the last page was read. */
  #isDirty = false;

  constructor(sql: SqlStorage, parts: Parts, runs: Runs) {
    this.#sql = sql;
    this.#parts = parts;
    this.#runs = runs;
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

  append(run_id: string, traces: TraceOp[]) {
    if (traces.length === 0) return;
    const trace = this.getOpen(run_id);
    if (trace) this.setOpen(run_id, advanceTrace(run_id, trace, traces));
    if (traces.every(({ data, texts }) => isSmall(data) && !texts)) this.#insert(traces);
    else this.#insertLong(traces);
    this.#hasPending = true;
    this.#isDirty = true;
  }

  #insert(traces: TraceOp[]) {
    const rows = traces.map(({ kind, data }) => [kind, data]);
    insertRows(this.#sql, "INSERT INTO trace_outbox (kind, data)", rows);
  }

  /** Names shared parts after the last row that uses them, which deletes them. */
  #insertLong(traces: TraceOp[]) {
    const first = this.#lastSeq() + 1;
    const last = first + traces.length - 1;
    const parts = new Map<number, string>();
    const store = (text: TraceText): StoredText => {
      if (!("id" in text)) {
        const { of, before, from, chars, rest } = text;
        return { part: parts.get(of) ?? null, before, from, chars, rest };
      }
      const part = `${last} ${parts.size}`;
      parts.set(text.id, part);
      this.#parts.insert(partName(part), text.text);
      return { part, before: "", from: 0, chars: text.text.length, rest: "" };
    };
    const rows = traces.map(({ kind, data, texts }, n) => {
      const seq = first + n;
      if (!isSmall(data)) this.#parts.insert(partName(seq), data);
      const stored = texts && JSON.stringify(mapTexts(texts, store));
      return [seq, kind, isSmall(data) ? data : null, stored ?? null];
    });
    insertRows(this.#sql, "INSERT INTO trace_outbox (seq, kind, data, texts)", rows);
  }

  #lastSeq(): number {
    const [row] = this.#sql
      .exec<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'trace_outbox'")
      .toArray();
    return row?.seq ?? 0;
  }

  get hasPending(): boolean {
    this.#hasPending ??=
      this.#sql
        .exec<{ waiting: number }>("SELECT EXISTS(SELECT 1 FROM trace_outbox) AS waiting")
        .one().waiting === 1;
    return this.#hasPending;
  }

  /** Returns the rows after a sequence number, up to the limits of a delivery. */
  page(after = 0): OutboxPage {
    const found = this.#sql.exec<OutboxRow>(
      "SELECT seq, kind, data, texts FROM trace_outbox WHERE seq > ? ORDER BY seq LIMIT ?",
      after,
      PAGE_ROWS,
    );
    const page: OutboxPage = { last_seq: after, rows: [], hasParts: false, isLast: true };
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
    this.#isDirty = false;
    return page;
  }

  /** `wholes` caches the parts of a page. */
  #toRow({ seq, kind, data, texts }: OutboxRow, wholes: Map<string, string>): TraceRow {
    const join = ({ part, ...text }: StoredText) => {
      const whole =
        part === null ? "" : (wholes.get(part) ?? this.#parts.text(partName(part), null));
      if (part !== null) wholes.set(part, whole);
      return joinText(text, whole);
    };
    const stored = texts === null ? {} : JSON.parse(texts);
    return { kind, data: this.#parts.text(partName(seq), data), texts: mapTexts(stored, join) };
  }

  /** Returns pages for a thread that is being deleted, up to a limit of memory. `isWhole`: no rows are left out. */
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

  /** Deletes the last page read, once ingestion has stored it. */
  remove({ last_seq, hasParts, isLast }: OutboxPage) {
    if (hasParts) this.#parts.deleteNumbered(PART_PREFIX, last_seq);
    this.#sql.exec("DELETE FROM trace_outbox WHERE seq <= ?", last_seq);
    this.#hasPending = isLast && !this.#isDirty ? false : null;
  }

  /** Skips the first read: the tables are new. */
  startEmpty() {
    this.#hasPending = false;
  }

  clearCache() {
    this.#hasPending = null;
  }
}

// Three bytes are the upper bound of one UTF-16 unit in UTF-8.
function isSmall(data: string): boolean {
  return data.length * 3 <= PART_BYTES;
}

const PART_PREFIX = "trace ";

/** `name` is a row number, or `{last row} {n}` for a shared text. */
function partName(name: number | string): string {
  return `${PART_PREFIX}${name}`;
}
