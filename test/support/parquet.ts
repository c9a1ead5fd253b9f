import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { decompress } from "fzstd";
import { parquetReadObjects } from "hyparquet";
import { COLUMNS, type Column } from "../../src/exports/columns.ts";
import { type Compression, ParquetWriter } from "../../src/exports/parquet/writer.ts";

export type Cell = string | number | null;
export type Row = Record<string, Cell>;

export const COMPRESSIONS: readonly Compression[] = ["zstandard", "gzip", "snappy", "none"];
export const CONSTANTS = {
  tenant_id: "0198a0c2-0000-7000-8000-000000000001",
  session_id: "0198a0c2-0000-7000-8000-000000000002",
};

const TRACE = "0198a0c2-1111-7000-8000-00000000000a";
const PARENT = "0198a0c2-2222-7000-8000-00000000000b";
const CHILD = "0198a0c2-3333-7000-8000-00000000000c";
const DOTTED_ORDER = `20261101T101112000001Z${TRACE}.20261101T101113000002Z${PARENT.toUpperCase()}.20261101T101114000003Z${CHILD}`;

const PLAIN_ROW: Row = {
  id: CHILD,
  trace_id: TRACE,
  parent_run_id: PARENT,
  dotted_order: DOTTED_ORDER,
  reference_example_id: null,
  name: "ChatOpenAI",
  run_type: "llm",
  start_us: 1_793_527_874_000_003,
  end_us: 1_793_527_875_000_004,
  status: "success",
  is_root: 0,
  trace_tier: "longlived",
  inputs: '{"messages":[{"role":"user","content":"Where is my order?"}]}',
  outputs: '{"text":"On its way \\u0000 \\ud83d"}',
  error: null,
  extra: "{}",
  events: "[]",
  tags: '["a","b"]',
  feedback_stats: null,
  total_tokens: 30,
  prompt_tokens: 10,
  completion_tokens: 20,
  total_cost: "0.000000123",
  prompt_cost: "0.1",
  completion_cost: "12345678901234567890.5",
  first_token_us: null,
};

/** Values that an encoder gets wrong first. */
export const ODD_ROWS: Row[] = [
  PLAIN_ROW,
  Object.fromEntries(Object.keys(PLAIN_ROW).map((name) => [name, null])),
  { ...PLAIN_ROW, parent_run_id: null, dotted_order: DOTTED_ORDER.split(".")[0] ?? "", is_root: 1 },
  { ...PLAIN_ROW, dotted_order: null },
  { ...PLAIN_ROW, tags: null, inputs: "", outputs: "null", name: "", error: "" },
  { ...PLAIN_ROW, tags: "[]", inputs: '""' },
  { ...PLAIN_ROW, tags: '["", null, "\\u0000", "\\ud83d\\ude00", "\\ud83d"]' },
  { ...PLAIN_ROW, tags: JSON.stringify(Array.from({ length: 20_000 }, (_, at) => `tag ${at}`)) },
  { ...PLAIN_ROW, name: "\u0000", inputs: "a\u0000b", error: "😀".repeat(17), extra: "é" },
  {
    ...PLAIN_ROW,
    name: "\ufeff",
    inputs: "\ufeff{}",
    error: "a\ufeff",
    tags: '["\\ufeff", "\\ufefft"]',
  },
  {
    ...PLAIN_ROW,
    inputs: "\ud800",
    outputs: "\udc00x",
    error: "a\ud83d",
    extra: "\ud83d\ud83d\ude00",
  },
  {
    ...PLAIN_ROW,
    inputs: "é".repeat(20_000),
    outputs: `x${"😀".repeat(70_000)}`,
    error: "漢".repeat(49),
  },
  { ...PLAIN_ROW, inputs: `${"a".repeat(8191)}😀${"\ud800".repeat(9000)}` },
  {
    ...PLAIN_ROW,
    start_us: -62_135_596_800_000_000,
    end_us: 253_402_300_799_999_000,
    first_token_us: -1,
  },
  { ...PLAIN_ROW, total_tokens: Number.MAX_SAFE_INTEGER, prompt_tokens: -1, completion_tokens: 0 },
  {
    ...PLAIN_ROW,
    total_tokens: Number.MIN_SAFE_INTEGER,
    prompt_tokens: -(2 ** 32),
    completion_tokens: 2 ** 32,
  },
  {
    ...PLAIN_ROW,
    total_tokens: 1e300,
    prompt_tokens: 0.5,
    completion_tokens: 2 ** 62,
    total_cost: "1e999",
  },
  { ...PLAIN_ROW, total_cost: "-0.5", prompt_cost: "0", completion_cost: "no number" },
];

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ maxLength: 300 }),
  fc.constantFrom("", "\u0000", "\ufeff", "\ud800", "x\udfff", "😀", "漢字".repeat(40)),
);
const someText = fc.option(anyText);
const anyMicros = fc.integer({ min: -62_135_596_800_000_000, max: Number.MAX_SAFE_INTEGER });
const anyTags = fc.option(
  fc.array(fc.option(anyText), { maxLength: 5 }).map((tags) => JSON.stringify(tags)),
);
const anyCount = fc.option(fc.maxSafeInteger());
const anyCost = fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String));

const anyRow: fc.Arbitrary<Row> = fc.record({
  id: anyText,
  trace_id: anyText,
  parent_run_id: someText,
  dotted_order: fc.constantFrom(null, DOTTED_ORDER, DOTTED_ORDER.split(".")[0] ?? ""),
  reference_example_id: someText,
  name: fc.oneof(fc.constantFrom("a", "b"), anyText),
  run_type: fc.constantFrom("llm", "chain", null),
  start_us: anyMicros,
  end_us: fc.option(anyMicros),
  status: fc.constantFrom("success", "error"),
  is_root: fc.constantFrom(0, 1),
  trace_tier: fc.constantFrom("longlived", null),
  inputs: someText,
  outputs: someText,
  error: someText,
  extra: someText,
  events: someText,
  tags: anyTags,
  feedback_stats: someText,
  total_tokens: anyCount,
  prompt_tokens: anyCount,
  completion_tokens: anyCount,
  total_cost: anyCost,
  prompt_cost: anyCost,
  completion_cost: anyCost,
  first_token_us: fc.option(anyMicros),
});

export const anyRows = fc.array(anyRow, { maxLength: 40, size: "max" });

/** Writes rows in batches of at most so many. */
export function writeRows(
  columns: readonly Column[],
  rows: readonly Row[],
  compression: Compression = "zstandard",
  batchRows = rows.length || 1,
): Uint8Array<ArrayBuffer> {
  const writer = new ParquetWriter(columns, { compression, constants: CONSTANTS });
  const parts: Uint8Array[] = [];
  for (let from = 0; from < rows.length; from += batchRows) {
    parts.push(...writer.write(batchOf(rows.slice(from, from + batchRows))));
  }
  return concat([...parts, ...writer.finish()]);
}

export function batchOf(rows: readonly Row[]) {
  const names = Object.keys(PLAIN_ROW);
  const columns = names.map((name) => [name, rows.map((row) => row[name] ?? null)] as const);
  return { rows: rows.length, columns: Object.fromEntries(columns) };
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function expectedRow(columns: readonly Column[], row: Row): unknown[] {
  return columns.map((column) => expectedCell(column, { ...row, ...CONSTANTS }));
}

/** The one escape of half a pair in `ODD_ROWS`. */
const HALF = /\\ud83d(?!\\ud)/g;

function expectedText(text: string, isJson: boolean): string {
  return isJson ? text.replace(HALF, "\\ufffd").toWellFormed() : text.toWellFormed();
}

function expectedCell({ name, type, source, isJson }: Column, row: Row): unknown {
  const cell = row[source] ?? null;
  if (name === "parent_run_ids") return expectedParents(row);
  if (cell === null) return null;
  switch (type) {
    case "text":
      return expectedText(String(cell), isJson === true);
    case "texts":
      return JSON.parse(String(cell)).map((item: string | null) => item?.toWellFormed() ?? null);
    case "boolean":
      return cell === 1;
    case "timestamp":
    case "integer":
      return Number.isInteger(cell) && Math.abs(Number(cell)) < 2 ** 63 ? BigInt(cell) : null;
    case "double":
      return Number.isFinite(Number(cell)) ? Number(cell) : null;
  }
}

function expectedParents({ dotted_order, parent_run_id }: Row): string[] {
  if (dotted_order != null) return dotted_order === DOTTED_ORDER ? [TRACE, PARENT] : [];
  return parent_run_id != null ? [String(parent_run_id).toWellFormed()] : [];
}

/** Comparing megabytes byte by byte takes a test framework seconds. */
export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const compressors = {
  ZSTD: (bytes: Uint8Array) => decompress(bytes),
  GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)),
};
const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const parsers = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  stringFromBytes: (bytes?: Uint8Array) => bytes && utf8.decode(bytes),
};

export async function readRows(
  bytes: Uint8Array<ArrayBuffer>,
  columns = COLUMNS,
): Promise<unknown[][]> {
  const rows = await parquetReadObjects({ file: bytes.buffer, compressors, parsers });
  return rows.map((row) => columns.map(({ name }) => row[name] ?? null));
}
