import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { ParquetFile } from "../../src/exports/files/parquet-file.ts";
import { FileUpload } from "../../src/exports/files/upload.ts";
import { consumeFile } from "../../src/exports/progress/consumer.ts";
import { planExport } from "../../src/exports/progress/plan.ts";
import type { S3Client } from "../../src/exports/s3/client.ts";
import { bulk_export_files } from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { type Exporter, exporter, given, ordered, readFiles } from "./support/exports.ts";

const DAY = { start_time: "2026-05-07T00:00:00Z", end_time: "2026-05-08T00:00:00Z" };
const FILES = 4;

let ours: Exporter;
let project: string;
beforeAll(async () => {
  ours = await exporter();
  project = await given(ours, { from: "2026-05-07T12:00:00Z", count: 20 });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns the ids of files that wait, each of an export, as if they had so many rows and bytes. */
async function waiting(rows_planned: number, bytes?: number): Promise<string[]> {
  const files = [];
  for (let n = 0; n < FILES; n++) {
    const started_at = new Date().toISOString();
    const row = await ordered(ours, project, { ...DAY, status: "RUNNING", started_at });
    await planExport(env, row);
    files.push(...(await readFiles(row.id)));
  }
  const db = database(env);
  for (const { id, chunk } of files) {
    const planned = { rows_planned, chunk: { ...chunk, bytes: bytes ?? chunk.bytes } };
    await db.update(bulk_export_files).set(planned).where(eq(bulk_export_files.id, id));
  }
  return files.map(({ id }) => id);
}

/** Writes the files by messages that arrive together. Returns how many were in work at once. */
async function writeTogether(ids: string[]): Promise<number> {
  let [current, most] = [0, 0];
  const { finish } = FileUpload.prototype;
  vi.spyOn(FileUpload.prototype, "finish").mockImplementation(async function (this: FileUpload) {
    current += 1;
    most = Math.max(most, current);
    // The others reach this point too, if nothing keeps them from it.
    await scheduler.wait(500);
    current -= 1;
    return finish.call(this);
  });
  await Promise.all(ids.map((bulk_export_file_id) => consumeFile(env, { bulk_export_file_id })));
  return most;
}

async function statusesOf(ids: string[]) {
  const rows = await database(env).select().from(bulk_export_files);
  return rows.filter(({ id }) => ids.includes(id)).map(({ status }) => status);
}

test("an isolate writes large files one after the other", async () => {
  const ids = await waiting(250_000);
  expect(await writeTogether(ids)).toBe(1);
  expect(await statusesOf(ids)).toEqual(ids.map(() => "COMPLETED"));
}, 60_000);

test("an isolate writes files of few large rows one after the other", async () => {
  const ids = await waiting(20, 100_000_000);
  expect(await writeTogether(ids)).toBe(1);
  expect(await statusesOf(ids)).toEqual(ids.map(() => "COMPLETED"));
}, 60_000);

test("a file is not read ahead while a row larger than a page is encoded", async () => {
  const project_id = await given(ours, { from: "2026-05-07T12:00:00Z", count: 3, text: 3_000_000 });
  const row = await ordered(ours, project_id, { ...DAY, status: "RUNNING" });
  await planExport(env, row);
  const steps: string[] = [];
  const { scan } = TracePartition.prototype;
  vi.spyOn(TracePartition.prototype, "scan").mockImplementation(function (
    this: TracePartition,
    ...args
  ) {
    steps.push("read");
    return scan.apply(this, args);
  });
  const { addRows } = ParquetFile.prototype;
  vi.spyOn(ParquetFile.prototype, "addRows").mockImplementation(async function (
    this: ParquetFile,
    part,
  ) {
    await scheduler.wait(100);
    await addRows.call(this, part);
    steps.push("encode");
  });
  for (const { id } of await readFiles(row.id)) await consumeFile(env, { bulk_export_file_id: id });
  expect(steps).toEqual(["read", "encode", "read", "encode", "read", "encode"]);
}, 60_000);

test("the buffer of an upload has the size of its file", async () => {
  const buffers: number[] = [];
  const client = {
    putObject: async (_key: string, body: Uint8Array) => {
      buffers.push(body.buffer.byteLength, body.byteLength);
      return { etag: null };
    },
  } as unknown as S3Client;
  const upload = new FileUpload(client, "key", async () => {});
  for (let n = 0; n < 10; n++) await upload.write(new Uint8Array(1000));
  await upload.finish();
  const [reserved = 0, sent] = buffers;
  expect(sent).toBe(10_000);
  expect(reserved).toBeLessThan(20_001);
});

test("an isolate writes small files at once", async () => {
  const ids = await waiting(20);
  expect(await writeTogether(ids)).toBeGreaterThan(1);
  expect(await statusesOf(ids)).toEqual(ids.map(() => "COMPLETED"));
}, 60_000);
