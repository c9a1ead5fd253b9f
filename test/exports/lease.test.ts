import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { openBucket } from "../../src/exports/destinations/bucket.ts";
import { attemptFile } from "../../src/exports/files/file-attempt.ts";
import { claimFile, renewLease } from "../../src/exports/files/file-lease.ts";
import { LEASE_MS, MAX_FILES_AT_ONCE } from "../../src/exports/limits.ts";
import { consumeFile } from "../../src/exports/progress/consumer.ts";
import { planExport } from "../../src/exports/progress/plan.ts";
import { sweepFiles } from "../../src/exports/progress/sweep.ts";
import { bulk_export_files, type FileRow } from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import {
  carryOn,
  contents,
  type Exporter,
  exporter,
  given,
  holdUpload,
  ordered,
  readFiles,
  readRow,
} from "./support/exports.ts";

const DAY = { start_time: "2026-05-05T00:00:00Z", end_time: "2026-05-06T00:00:00Z" };
const NOON = "2026-05-05T12:00:00Z";
/** After the backoff of a first retry. */
const LATER = new Date(Date.now() + 60_000);
const db = database(env);

let ours: Exporter;
let small: string;
let large: string;
beforeAll(async () => {
  ours = await exporter();
  small = await given(ours, { from: NOON, count: 20 });
  large = await given(ours, { from: NOON, count: 40, text: 500_000 });
});

/** Inserts a running export whose only file waits. */
async function planned(session_id: string) {
  const started_at = new Date().toISOString();
  const row = await ordered(ours, session_id, { ...DAY, status: "RUNNING", started_at });
  await planExport(env, row);
  return { row, file: await fileOf(row.id) };
}

async function fileOf(export_id: string): Promise<FileRow> {
  const [file, ...others] = await readFiles(export_id);
  if (!file || others.length > 0) throw new Error("The export has not one file");
  return file;
}

async function claimed({ id }: FileRow, now = new Date()): Promise<FileRow> {
  const file = await claimFile(env, id, now);
  if (!file) throw new Error(`The file ${id} cannot be claimed`);
  return file;
}

/** Ends an attempt as a Worker that stops. */
async function loseAttempt({ id }: FileRow): Promise<void> {
  await db
    .update(bulk_export_files)
    .set({ lease_expires_at: new Date(0).toISOString() })
    .where(eq(bulk_export_files.id, id));
  await consumeFile(env, { bulk_export_file_id: id });
}

async function asUndisturbed(session_id: string) {
  const { row } = await planned(session_id);
  expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
  return contents(row);
}

describe("a file", () => {
  test("belongs to one attempt at a time, and to the next after an expired lease", async () => {
    const { file } = await planned(small);
    const first = await claimed(file);
    expect(first).toMatchObject({ status: "RUNNING", token: 1 });
    await consumeFile(env, { bulk_export_file_id: file.id });
    expect(await fileOf(file.bulk_export_id)).toEqual(first);
    await loseAttempt(first);
    const second = await claimed(file, LATER);
    expect(second.token).toBe(2);
    const written = { rows_written: 1, bytes_written: 1 };
    expect(await renewLease(env, first, written)).toBe(false);
    expect(await renewLease(env, second, written)).toBe(true);
  });

  test("whose attempts stop without a result waits longer each time, and fails at last", async () => {
    const { row, file } = await planned(small);
    await db
      .update(bulk_export_files)
      .set({ retry_limit: 1 })
      .where(eq(bulk_export_files.id, file.id));
    await loseAttempt(await claimed(file));
    const [waiting] = await readFiles(row.id);
    expect(waiting).toMatchObject({
      status: "WAITING",
      retry_number: 1,
      next_attempt_at: expect.any(String),
      errors: { retry_0: expect.stringMatching(/^The attempt ended without an answer: /) },
    });
    await loseAttempt(await claimed(file, LATER));
    expect(await fileOf(row.id)).toMatchObject({ status: "FAILED", retry_number: 1 });
    expect(await readRow(row.id)).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("The attempt ended without an answer"),
    });
  });

  test("that was claimed before it was marked as sent is resent after the attempt stops", async () => {
    const { row, file } = await planned(small);
    await claimed(file);
    const lease_expires_at = new Date(0).toISOString();
    await db
      .update(bulk_export_files)
      .set({ lease_expires_at })
      .where(eq(bulk_export_files.id, file.id));
    const now = new Date(Date.now() + 60_000);
    await sweepFiles(env, now);
    expect((await fileOf(row.id)).sent_at).toBe(now.toISOString());
  });

  test("named by five concurrent messages is written once", async () => {
    const { row, file } = await planned(small);
    const message = { bulk_export_file_id: file.id };
    await Promise.all(Array.from({ length: 5 }, () => consumeFile(env, message)));
    expect(await fileOf(row.id)).toMatchObject({ status: "COMPLETED", token: 1, rows_written: 20 });
    await consumeFile(env, message);
    expect(await fileOf(row.id)).toMatchObject({ status: "COMPLETED", token: 1 });
    await carryOn(row.id);
    expect(await contents(row)).toEqual(await asUndisturbed(small));
  });

  test("is not completed by an attempt whose lease another has", async () => {
    const { row, file } = await planned(small);
    const first = await claimed(file);
    await loseAttempt(first);
    await claimed(file, LATER);
    await attemptFile(env, first);
    const { client } = await openBucket(env, row);
    expect(await client.headObject(file.key)).toBeNull();
    expect(await fileOf(row.id)).toMatchObject({ status: "RUNNING", token: 2 });
  });

  test("is taken over in the middle of its upload, which never completes", async () => {
    const { row, file } = await planned(large);
    const upload = holdUpload();
    const writing = attemptFile(env, await claimed(file));
    await upload.begun;
    await loseAttempt(file);
    const second = await claimed(file, LATER);
    expect(second.upload_id).not.toBeNull();
    // Needs no memory, as in another isolate.
    await attemptFile(env, { ...second, chunk: { ...second.chunk, bytes: 0 } });
    upload.release();
    await writing;
    expect(await fileOf(row.id)).toMatchObject({ status: "COMPLETED", token: 2, retry_number: 1 });
    await carryOn(row.id);
    expect(await contents(row)).toEqual(await asUndisturbed(large));
    const { client } = await openBucket(env, row);
    expect(await client.listUploads(row.key_base)).toEqual([]);
  });

  test("whose upload was aborted is written again", async () => {
    const { row, file } = await planned(large);
    const { client } = await openBucket(env, row);
    const upload = holdUpload();
    const writing = attemptFile(env, await claimed(file));
    await upload.begun;
    for (const { key, upload_id } of await client.listUploads(file.key)) {
      await client.abortUpload(key, upload_id);
    }
    upload.release();
    await writing;
    expect(await fileOf(row.id)).toMatchObject({
      status: "WAITING",
      retry_number: 1,
      errors: { retry_0: expect.stringMatching(/^NoSuchUpload: /) },
    });
    expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
    expect(await contents(row)).toEqual(await asUndisturbed(large));
  });

  test("waits while its workspace writes as many as it may at once", async () => {
    const { file } = await planned(small);
    const others = Array.from({ length: MAX_FILES_AT_ONCE }, (_, n) => n);
    const lease_expires_at = new Date(Date.now() + LEASE_MS).toISOString();
    for (const n of others) {
      const lease = { status: "RUNNING", lease_expires_at, bulk_export_id: "other" } as const;
      await db
        .insert(bulk_export_files)
        .values({ ...file, ...lease, id: `${file.id}-${n}`, key: `${n}` });
    }
    expect(await claimFile(env, file.id, new Date())).toBeNull();
    await db.delete(bulk_export_files).where(eq(bulk_export_files.bulk_export_id, "other"));
    expect((await claimed(file)).token).toBe(1);
  });

  test("of an export that ended cannot be claimed", async () => {
    const { row, file } = await planned(small);
    for (const status of ["CANCELLED", "FAILED", "TIMEDOUT", "CREATED"]) {
      await env.DB.prepare("UPDATE bulk_exports SET status = ? WHERE id = ?")
        .bind(status, row.id)
        .run();
      expect(await claimFile(env, file.id, new Date())).toBeNull();
    }
    expect((await readRow(row.id)).status).toBe("CREATED");
  });
});
