import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { zstdDecompressSync } from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import { NO_PAYLOADS } from "../../../src/traces/segments/codec/frames.ts";
import { readStored } from "../../../src/traces/segments/codec/stored-run.ts";
import type { RunSegment } from "../../../src/traces/segments/segment.ts";
import { SegmentStore } from "../../../src/traces/segments/store.ts";

/** Returns where the storage of traces, R2 and D1 have a text, segments and their dead runs unpacked. */
export async function placesOf(text: string): Promise<string[]> {
  const places = await Promise.all([inObjects(text), inBucket(text), inDatabase(text)]);
  return [...new Set(places.flat())].sort();
}

async function inObjects(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const id of await listDurableObjectIds(env.PARTITIONS)) {
    const rows = await runInDurableObject(env.PARTITIONS.get(id), (_, { storage }) => [
      ...tableRows(storage),
      ...segmentRuns(storage),
      ...[...storage.kv.list()].map((entry) => ["kv", entry] as const),
    ]);
    for (const [place, row] of rows) if (has(row, text)) found.push(`object ${place}`);
  }
  return found;
}

function tableRows({ sql }: DurableObjectStorage): [string, unknown][] {
  const tables = sql.exec<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  );
  return [...tables].flatMap(({ name }) =>
    [...sql.exec(`SELECT * FROM "${name}"`)].map((row): [string, unknown] => [name, row]),
  );
}

/** Versions that a later one replaced are included. */
function segmentRuns(storage: DurableObjectStorage): [string, unknown][] {
  const store = new SegmentStore(storage);
  const hasTables = [...storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'segments'")];
  if (hasTables.length === 0) return [];
  const segments = ["segments", store.smallTable].flatMap((table) => store.loaded.of(table));
  return segments.flatMap((segment) =>
    Array.from({ length: segment.info.runs }, (_, n): [string, unknown] => [
      "run",
      readStored(store.head(segment), frameOf(store, segment, n), n),
    ]),
  );
}

/** Bodies in R2 are read there. */
function frameOf(store: SegmentStore, segment: RunSegment, n: number) {
  return store.cold.r2KeyOf(segment.number) ? NO_PAYLOADS : store.frame(segment, n);
}

async function inBucket(text: string): Promise<string[]> {
  const found: string[] = [];
  const { objects } = await env.ARTIFACTS.list({ prefix: "runs/" });
  for (const { key } of objects) {
    const body = await env.ARTIFACTS.get(key);
    if (has(key, text) || has(await body?.text(), text)) found.push("bucket");
  }
  if (await isInFiles(text)) found.push("bucket");
  return found;
}

const unpackZstd = (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input));

const FRAME = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Unpacks a body, whose frames are one behind the other. */
function unpackBody(file: ArrayBuffer): string {
  const bytes = Buffer.from(file);
  const texts: string[] = [];
  for (let at = bytes.indexOf(FRAME); at >= 0; at = bytes.indexOf(FRAME, at + 1)) {
    texts.push(zstdDecompressSync(bytes.subarray(at)).toString("latin1"));
  }
  return texts.join();
}

async function unpackFile(file: ArrayBuffer): Promise<string> {
  const rows = await parquetReadObjects({ file, compressors: { ZSTD: unpackZstd } });
  return rows.flatMap((row) => Object.values(row).map(String)).join();
}

/** Unpacks sealed files and bodies. */
async function isInFiles(text: string): Promise<boolean> {
  const { objects } = await env.ARTIFACTS.list({ prefix: "traces/" });
  for (const { key } of objects) {
    const file = await (await env.ARTIFACTS.get(key))?.arrayBuffer();
    if (file === undefined) continue;
    const all = key.endsWith(".body") ? unpackBody(file) : await unpackFile(file);
    if (all.includes(text)) return true;
  }
  return false;
}

async function inDatabase(text: string): Promise<string[]> {
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>();
  const found: string[] = [];
  for (const { name } of tables.results) {
    const { results } = await env.DB.prepare(`SELECT * FROM "${name}"`).all();
    if (has(results, text)) found.push(`database ${name}`);
  }
  return found;
}

function has(value: unknown, text: string): boolean {
  const plain = JSON.stringify(value, (_, part) =>
    part instanceof ArrayBuffer ? new TextDecoder("latin1").decode(part) : part,
  );
  return plain?.includes(text) ?? false;
}
