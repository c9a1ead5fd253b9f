import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { parquetMetadata } from "hyparquet";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COLUMNS } from "../../src/exports/columns.ts";
import {
  createDestination,
  createExport,
  download,
  ended,
  listKeys,
  type Manifest,
  readManifest,
} from "./support/exports.ts";
import { request } from "./support/http.ts";
import {
  type Cells,
  isoOf,
  numberOf,
  ODD_HOUR,
  type OddRun,
  PAYLOADS,
  RANGE,
  RUN_COUNT,
  runAt,
  sentRun,
} from "./support/odd-runs.ts";
import { arrowRows, duckdbRows, hyparquetRows, type Row } from "./support/parquet-readers.ts";
import { stack } from "./support/stack.ts";

const REQUEST_RUNS = 500;
const REQUESTS_AT_ONCE = 3;
const MINUTES = 60_000;
const MOST_TOLD = 20;
const BOUNDARY = "----odd-runs";

const prefix = `exact-${crypto.randomUUID().slice(0, 8)}`;
let folder: string;
let session_id: string;
let destination: string;
let db: DuckDBConnection;

beforeAll(async () => {
  // Takes seconds of the processor, in which an idle connection would be closed unnoticed: before the first request.
  const patches = readPatches();
  folder = await mkdtemp(join(tmpdir(), "heddle-exact-"));
  db = await (await DuckDBInstance.create(":memory:")).connect();
  await db.run("SET TimeZone = 'UTC'");
  destination = await createDestination(prefix);
  const { body } = await request<{ id: string }>("POST", "/api/v1/sessions", { name: prefix });
  session_id = body.id;
  await ingestAll(patches);
}, 10 * MINUTES);

afterAll(async () => {
  db.closeSync();
  await rm(folder, { recursive: true, force: true });
});

const started = Date.now();
function print(what: string): void {
  process.stderr.write(`exactness: ${((Date.now() - started) / 1000).toFixed(1)} s ${what}\n`);
}

type Change = { kind: "post" | "patch"; run: OddRun; texts: Record<string, string> };

/** Fields by which the exports of this file choose runs. */
type Sent = { start_us: number; run_type: unknown; is_root: unknown };
/** Indexed by the number of the run. */
const sent: Sent[] = [];

type Patches = { before: Change[]; after: Change[] };

/** Patches that come too early, then all runs, then the patches that come after them. */
async function ingestAll({ before, after }: Patches): Promise<void> {
  await inParallel(slices(before), (changes) => send(changes, "batch"));
  const firsts = Array.from({ length: Math.ceil(RUN_COUNT / REQUEST_RUNS) }, (_, n) => n);
  await inParallel(firsts, async (at) => {
    const from = at * REQUEST_RUNS;
    const count = Math.min(REQUEST_RUNS, RUN_COUNT - from);
    const runs = Array.from({ length: count }, (_, k) => sentRun(from + k));
    const changes = runs.flatMap((run): Change[] => [
      { kind: "post", run, texts: run.post },
      ...(run.patch?.when === "with"
        ? [{ kind: "patch" as const, run, texts: run.patch.texts }]
        : []),
    ]);
    await send(changes, at % 2 === 0 ? "batch" : "multipart");
    if (at % 40 === 0) print(`${from + count} of ${RUN_COUNT} runs are ingested`);
  });
  await inParallel(slices(after), (changes) => send(changes, "multipart"));
  print("all runs are ingested");
}

/** Makes each run once. */
function readPatches(): Patches {
  const patches: Patches = { before: [], after: [] };
  for (let n = 0; n < RUN_COUNT; n += 1) {
    const run = sentRun(n);
    const { run_type, is_root } = run.row;
    sent.push({ start_us: run.start_us, run_type, is_root });
    const when = run.patch?.when;
    if (run.patch && (when === "before" || when === "after")) {
      patches[when].push({ kind: "patch", run, texts: run.patch.texts });
    }
  }
  return patches;
}

function slices<T>(items: T[]): T[][] {
  const count = Math.ceil(items.length / REQUEST_RUNS);
  return Array.from({ length: count }, (_, n) =>
    items.slice(n * REQUEST_RUNS, (n + 1) * REQUEST_RUNS),
  );
}

async function send(changes: Change[], how: "batch" | "multipart"): Promise<void> {
  const feedback = changes.flatMap(({ kind, run }) =>
    kind === "post" ? run.feedback.map((one) => ({ ...one, run_id: run.id })) : [],
  );
  if (how === "batch") {
    const of = (kind: Change["kind"]) =>
      changes.filter((one) => one.kind === kind).map(({ texts }) => toJson(texts));
    const body = `{"post":[${of("post").join()}],"patch":[${of("patch").join()}]}`;
    await post("/runs/batch", "application/json", body);
    await Promise.all(
      feedback.map((one) => post("/api/v1/feedback", "application/json", toText(one))),
    );
    return;
  }
  const parts = changes.flatMap(({ kind, run, texts }) => toParts(`${kind}.${run.id}`, texts));
  const texts = feedback.map((one) => toPart(`feedback.${one.id}`, toText(one)));
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  await post("/runs/multipart", type, [...parts, ...texts, `--${BOUNDARY}--\r\n`].join(""));
}

const toText = (value: unknown) => JSON.stringify(value);

function toJson(texts: Record<string, string>): string {
  const fields = { session_id: toText(session_id), ...texts };
  return `{${Object.entries(fields)
    .map(([name, text]) => `${toText(name)}:${text}`)
    .join()}}`;
}

function toParts(name: string, texts: Record<string, string>): string[] {
  const main = { ...texts };
  const parts: string[] = [];
  for (const field of PAYLOADS) {
    const text = texts[field];
    if (text !== undefined) parts.push(toPart(`${name}.${field}`, text));
    delete main[field];
  }
  return [toPart(name, toJson(main)), ...parts];
}

function toPart(name: string, text: string): string {
  const head = `Content-Disposition: form-data; name="${name}"\r\nContent-Type: application/json`;
  return `--${BOUNDARY}\r\n${head}\r\n\r\n${text}\r\n`;
}

async function post(path: string, type: string, body: string): Promise<void> {
  const headers = { "x-api-key": stack.api_key, "content-type": type };
  const answer = await fetch(stack.base_url + path, { method: "POST", headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 500)}`);
}

async function inParallel<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, worker));
}

type Range = { from_us: number; to_us: number };
type Wanted = { isWanted(run: Sent): boolean; columns: readonly string[] };

async function exportRange({ from_us, to_us }: Range, more: object = {}): Promise<Manifest> {
  const made = await createExport({
    ...{ bulk_export_destination_id: destination, session_id, ...more },
    ...{ start_time: isoOf(from_us), end_time: isoOf(to_us) },
  });
  expect(await ended(made.id)).toMatchObject({ status: "COMPLETED", error: null });
  const manifest = await readManifest(prefix, made.id);
  const root = `${prefix}/export_id=${made.id}/`;
  expect((await listKeys(root)).sort()).toEqual(manifest.files.map(({ key }) => key).sort());
  return manifest;
}

/** Every column of every row, by each of the readers, beside what was sent; each run once, in order of time. */
async function verify(manifest: Manifest, { isWanted, columns }: Wanted): Promise<void> {
  const left = new Set(sent.flatMap((run, n) => (isWanted(run) ? [n] : [])));
  const wrong: object[] = [];
  const size = left.size;
  const paths = await download(manifest, folder);
  for (const [at, file] of manifest.files.entries()) {
    const found = await verifyFile(paths[at] ?? "", columns, left, wrong);
    const days = [found.first, found.last].map(dayFolderOf);
    expect(days.map((day) => file.key.includes(day))).toEqual([true, true]);
    expect([file.rows, file.min_start_time, file.max_start_time]).toEqual([
      found.rows,
      found.first,
      found.last,
    ]);
    if (file.rows > 10_000)
      print(`three readers agree on ${file.rows} rows: ${file.key.split("/runs/")[1]}`);
  }
  expect(wrong).toEqual([]);
  expect([...left]).toEqual([]);
  expect(manifest.rows).toBe(size);
}

async function verifyFile(
  path: string,
  columns: readonly string[],
  left: Set<number>,
  wrong: object[],
) {
  const bytes = new Uint8Array(await readFile(path));
  const others = { duckdb: duckdbRows(db, path), arrow: arrowRows(bytes) };
  const file = { rows: 0, first: "", last: "" };
  let before = "";
  for await (const row of hyparquetRows(bytes, columns)) {
    const n = numberOf(row[columns.indexOf("id")]);
    const run = runAt(n);
    const place = `${isoOf(run.start_us)} ${run.id}`;
    if (!left.delete(n)) wrong.push({ n, place, is: "there twice, or not wanted" });
    if (place <= before) wrong.push({ n, place, is: `after ${before}` });
    const read = {
      hyparquet: row,
      duckdb: (await others.duckdb.next()).value,
      arrow: (await others.arrow.next()).value,
    };
    if (wrong.length < MOST_TOLD) wrong.push(...differences(n, columns, toRow(run, columns), read));
    [before, file.last] = [place, isoOf(run.start_us)];
    if (file.rows === 0) file.first = file.last;
    file.rows += 1;
  }
  const ends = [await others.duckdb.next(), await others.arrow.next()];
  expect(ends.map(({ done }) => done)).toEqual([true, true]);
  return file;
}

function dayFolderOf(time: string): string {
  const [year, month, day] = time.slice(0, 10).split("-").map(Number);
  return `/runs/year=${year}/month=${month}/day=${day}/`;
}

const EVERY_COLUMN = COLUMNS.map(({ name }) => name);

function toRow({ row }: OddRun, columns: readonly string[]): Row {
  const cells: Cells = { ...row, tenant_id: stack.tenant_id, session_id };
  return columns.map((name) => cells[name]);
}

function differences(
  n: number,
  columns: readonly string[],
  wanted: Row,
  read: Record<string, Row | undefined>,
): object[] {
  return Object.entries(read).flatMap(([reader, row]) =>
    columns.flatMap((name, at) => {
      const [a, b] = [wanted[at], row?.[at]];
      return isSame(a, b) ? [] : [{ reader, n, name, wanted: brief(a), found: brief(b) }];
    }),
  );
}

function isSame(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((item, k) => item === b[k]);
}

function brief(value: unknown): unknown {
  return typeof value === "string" ? value.slice(0, 200) : value;
}

const inside =
  ({ from_us, to_us }: Range) =>
  ({ start_us }: Sent) =>
    from_us <= start_us && start_us < to_us;

test(
  "200,000 runs of five days are exported as they were sent, each once",
  async () => {
    const manifest = await exportRange(RANGE);
    print(`${manifest.rows} rows are exported in ${manifest.files.length} files`);
    await verify(manifest, { isWanted: inside(RANGE), columns: EVERY_COLUMN });
    const days = Map.groupBy(manifest.files, ({ key }) => key.slice(0, key.lastIndexOf("/")));
    const counts = [...days.values()].map((files) => files.length);
    expect([counts.length, Math.max(...counts)]).toEqual([5, expect.any(Number)]);
    expect(Math.max(...counts)).toBeGreaterThan(1);
    const [largest] = manifest.files.toSorted((a, b) => b.rows - a.rows);
    const bytes = new Uint8Array(await readFile(join(folder, largest?.key ?? "")));
    expect(parquetMetadata(bytes.buffer).row_groups.length).toBeGreaterThan(3);
  },
  10 * MINUTES,
);

test.each(["none", "gzip", "snappy", "zstandard"])(
  "what is odd comes through %s",
  async (compression) => {
    const manifest = await exportRange(ODD_HOUR, { compression });
    await verify(manifest, { isWanted: inside(ODD_HOUR), columns: EVERY_COLUMN });
  },
  5 * MINUTES,
);

test(
  "fields and a filter take some of it, unchanged",
  async () => {
    const day = { from_us: ODD_HOUR.from_us, to_us: ODD_HOUR.from_us + 20 * 3_600_000_000 };
    const columns = ["id", "parent_run_ids", "start_time", "inputs", "tags", "total_cost"];
    const filter = 'and(eq(run_type, "llm"), eq(is_root, true))';
    const manifest = await exportRange(day, { filter, export_fields: columns.toReversed() });
    expect(manifest.schema.map(({ name }) => name)).toEqual(columns);
    const isIn = inside(day);
    const isWanted = (run: Sent) => isIn(run) && run.run_type === "llm" && run.is_root === true;
    await verify(manifest, { isWanted, columns });
  },
  5 * MINUTES,
);

test(
  "fields and parts of days that are kept are copied unchanged",
  async () => {
    const hours = 3_600_000_000;
    const day = { from_us: ODD_HOUR.from_us + 23 * hours, to_us: ODD_HOUR.from_us + 47 * hours };
    const range = { from_us: day.from_us - 11 * hours, to_us: day.to_us + 7 * hours };
    const groupsOf = async (manifest: Manifest) => {
      const paths = await download(manifest, folder);
      const files = manifest.files.flatMap(({ key }, n) =>
        key.includes(dayFolderOf(isoOf(day.from_us))) ? [paths[n] ?? ""] : [],
      );
      return Promise.all(files.map(async (path) => groupRows(await readFile(path))));
    };
    // Keeps the day, unless an export before did.
    const whole = await exportRange(day);
    await verify(await exportRange(range), { isWanted: inside(range), columns: EVERY_COLUMN });
    const columns = ["id", "parent_run_ids", "start_time", "tags", "total_cost"];
    const manifest = await exportRange(range, { export_fields: columns });
    await verify(manifest, { isWanted: inside(range), columns });
    // Fields that are encoded have larger groups.
    expect(await groupsOf(manifest)).toEqual(await groupsOf(whole));
  },
  5 * MINUTES,
);

function groupRows(file: Buffer): bigint[] {
  return parquetMetadata(new Uint8Array(file).buffer).row_groups.map(({ num_rows }) => num_rows);
}
