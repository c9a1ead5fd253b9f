import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { BulkExportRun } from "../../src/exports/bulk-exports/run-schema.ts";
import { openBucket } from "../../src/exports/destinations/bucket.ts";
import { attemptFile } from "../../src/exports/files/file-attempt.ts";
import { claimFile } from "../../src/exports/files/file-lease.ts";
import { MAX_ACTIVE_EXPORTS, MAX_RETRIES_PER_FILE } from "../../src/exports/limits.ts";
import { advanceExport } from "../../src/exports/progress/advance.ts";
import { cleanUp } from "../../src/exports/progress/clean-up.ts";
import { consumeExport, consumeFile } from "../../src/exports/progress/consumer.ts";
import { failureText } from "../../src/exports/progress/export-files.ts";
import { finishExport } from "../../src/exports/progress/finish.ts";
import { planExport } from "../../src/exports/progress/plan.ts";
import { sweepExports, sweepFiles } from "../../src/exports/progress/sweep.ts";
import type { BulkExport } from "../../src/exports/schema.ts";
import {
  bulk_export_destinations,
  bulk_export_files,
  bulk_exports,
  type ExportRow,
  type FileRow,
} from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import { api } from "../support/workspace.ts";
import {
  call,
  cancel,
  carryOn,
  contents,
  type Exporter,
  exporter,
  given,
  holdUpload,
  leftovers,
  NOTHING,
  ordered,
  readFiles,
  readRow,
} from "./support/exports.ts";

const RANGE = { start_time: "2026-05-05T00:00:00Z", end_time: "2026-05-08T00:00:00Z" };
const HOUR_MS = 3_600_000;
/** After the last writer has stopped. */
const later = () => new Date(Date.now() + 60_000);
const db = database(env);

let ours: Exporter;
let small: string;
let large: string;
beforeAll(async () => {
  ours = await exporter();
  small = await given(ours, { from: "2026-05-05T01:00:00Z", count: 30, step_ms: 2 * HOUR_MS });
  large = await given(ours, { from: "2026-05-05T12:00:00Z", count: 30, text: 500_000 });
});

const order = (session_id = small, fields: Partial<ExportRow> = {}) =>
  ordered(ours, session_id, { ...RANGE, ...fields });

async function set(id: string, fields: Partial<ExportRow>): Promise<ExportRow> {
  await db.update(bulk_exports).set(fields).where(eq(bulk_exports.id, id));
  return readRow(id);
}

async function asUndisturbed(session_id = small) {
  const row = await order(session_id);
  expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED", error: null });
  return contents(row);
}

/** All files are in the bucket, and the export has not advanced since. */
async function written(session_id = small): Promise<ExportRow> {
  const { id } = await order(session_id, { status: "RUNNING" });
  await planExport(env, await readRow(id));
  for (const { id: file_id } of await readFiles(id)) {
    const file = await claimFile(env, file_id, new Date());
    if (file) await attemptFile(env, file);
  }
  return readRow(id);
}

async function statuses(id: string): Promise<string[]> {
  return (await readFiles(id)).map(({ status }) => status);
}

const retry = (id: string) => call<BulkExport>(ours, `/${id}/retry`, "POST");

describe("messages", () => {
  test("delivered twice, out of order and concurrently make one export", async () => {
    const row = await order();
    const [export_message] = [{ bulk_export_id: row.id }];
    await Promise.all(Array.from({ length: 6 }, () => consumeExport(env, export_message)));
    const files = (await readFiles(row.id)).map(({ id }) => ({ bulk_export_file_id: id }));
    expect(files.length).toBe(3);
    await Promise.all([
      ...files.toReversed().map((message) => consumeFile(env, message)),
      ...files.map((message) => consumeFile(env, message)),
      ...files.map(() => consumeExport(env, export_message)),
    ]);
    expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
    expect((await readFiles(row.id)).map(({ token }) => token)).toEqual([1, 1, 1]);
    expect(await contents(row)).toEqual(await asUndisturbed());
    const { body: runs } = await call<BulkExportRun[]>(ours, `/${row.id}/runs`, "GET");
    expect(runs.map(({ status }) => status)).toEqual(["COMPLETED", "COMPLETED", "COMPLETED"]);
    await Promise.all([...files.map((message) => consumeFile(env, message)), carryOn(row.id)]);
    expect((await readFiles(row.id)).map(({ token }) => token)).toEqual([1, 1, 1]);
  });

  test("that were lost are resent by the sweep", async () => {
    const send = vi
      .spyOn(env.EXPORTS, "sendBatch")
      .mockImplementation(async () => undefined as never);
    const sent = () =>
      send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
    try {
      const row = await order(small, { sent_at: new Date(0).toISOString() });
      await sweepExports(env, new Date());
      expect(sent()).toContainEqual({ type: "export", bulk_export_id: row.id });
      await consumeExport(env, { bulk_export_id: row.id });
      const files = await readFiles(row.id);
      expect(files.length).toBe(3);
      send.mockClear();
      await sweepFiles(env, later());
      for (const { id } of files) {
        expect(sent()).toContainEqual({ type: "export_file", bulk_export_file_id: id });
      }
      expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
    } finally {
      send.mockRestore();
    }
  });

  test("are not sent for files whose export ended", async () => {
    const { id } = await order(small, { status: "RUNNING" });
    await planExport(env, await readRow(id));
    const sent_at = new Date(0).toISOString();
    await db
      .update(bulk_export_files)
      .set({ sent_at })
      .where(eq(bulk_export_files.bulk_export_id, id));
    await set(id, { status: "FAILED", finished_at: new Date().toISOString() });
    await sweepFiles(env, new Date());
    expect((await readFiles(id)).map((file) => file.sent_at)).toEqual([sent_at, sent_at, sent_at]);
  });
});

describe("an export is cancelled", () => {
  test("before it begins", async () => {
    const row = await order();
    expect(await cancel(ours, row.id)).toMatchObject({
      status: 200,
      body: { status: "CANCELLED" },
    });
    expect(await cancel(ours, row.id)).toMatchObject({
      status: 200,
      body: { status: "CANCELLED" },
    });
    await advanceExport(env, row.id, later());
    expect(await readRow(row.id)).toMatchObject({
      planned_at: null,
      cleaned_at: expect.anything(),
    });
    expect(await leftovers(row)).toEqual(NOTHING);
  });

  test.each([
    ["with rows", RANGE],
    ["of no rows", { start_us: 0, end_us: 1 }],
  ])("while it is being planned, %s", async (_case, range) => {
    const { id } = await order(small, { ...range, status: "RUNNING" });
    const before = await readRow(id);
    await cancel(ours, id);
    await planExport(env, before);
    expect((await statuses(id)).every((status) => status === "CANCELLED")).toBe(true);
    await advanceExport(env, id, later());
    expect(await readRow(id)).toMatchObject({ status: "CANCELLED", cleaned_at: expect.anything() });
    expect(await leftovers(before)).toEqual(NOTHING);
  });

  test("while a part is on its way", async () => {
    const { id } = await order(large, { status: "RUNNING" });
    await planExport(env, await readRow(id));
    const [waiting] = await readFiles(id);
    const file = await claimFile(env, waiting?.id ?? "", new Date());
    if (!file) throw new Error("The file cannot be claimed");
    const upload = holdUpload();
    const writing = attemptFile(env, file);
    await upload.begun;
    await db
      .update(bulk_export_files)
      .set({ rows_written: 7, bytes_written: 7 })
      .where(eq(bulk_export_files.id, file.id));
    await cancel(ours, id);
    upload.release();
    await writing;
    expect(await readFiles(id)).toMatchObject([{ rows_written: 0, bytes_written: 0 }]);
    await advanceExport(env, id, later());
    const row = await readRow(id);
    expect(row).toMatchObject({ status: "CANCELLED", cleaned_at: expect.anything() });
    expect(await statuses(id)).toEqual(["CANCELLED"]);
    expect(await leftovers(row)).toEqual(NOTHING);
  });

  test("while a worker finishes it unaware", async () => {
    const row = await written();
    await cancel(ours, row.id);
    await finishExport(env, row, new AbortController().signal);
    expect(await leftovers(row)).toMatchObject({ success: true });
    await advanceExport(env, row.id, later());
    expect(await leftovers(row)).toEqual(NOTHING);
  });

  test("by two requests at once: both succeed", async () => {
    const row = await order();
    const answers = await Promise.all([cancel(ours, row.id), cancel(ours, row.id)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("as it ends: either the end or the cancellation wins", async () => {
    const row = await written();
    const [, answer] = await Promise.all([advanceExport(env, row.id), cancel(ours, row.id)]);
    const { status } = await readRow(row.id);
    await advanceExport(env, row.id, later());
    expect([status, answer.status]).toEqual(
      status === "COMPLETED" ? ["COMPLETED", 409] : ["CANCELLED", 200],
    );
    const isWhole = status === "COMPLETED";
    expect(await leftovers(row)).toEqual({ uploads: 0, success: isWhole, manifest: isWhole });
  });

  test("after its end: 409", async () => {
    const row = await order();
    await carryOn(row.id);
    const { status, body } = await cancel(ours, row.id);
    expect([status, body]).toEqual([
      409,
      { detail: "The export is COMPLETED and cannot be cancelled: it has ended." },
    ]);
  });
});

test("aborts uploads without a row at the end, and no others", async () => {
  const row = await written(small);
  const { client } = await openBucket(env, row);
  const [file] = await readFiles(row.id);
  const unknown = await client.createUpload(`${file?.key}`);
  const other = await client.createUpload(`${row.key_base}other`);
  await carryOn(row.id);
  const open = await client.listUploads(row.key_base);
  expect(open.map(({ upload_id }) => upload_id)).toEqual([other.upload_id]);
  expect(unknown.upload_id).not.toBe(other.upload_id);
  await client.abortUpload(`${row.key_base}other`, other.upload_id);
});

describe("after 72 hours", () => {
  const longAgo = () => new Date(Date.now() - 72 * HOUR_MS).toISOString();

  test("an export times out, and continues after a retry", async () => {
    const { id } = await order(small, { status: "RUNNING" });
    await planExport(env, await readRow(id));
    const [first] = await readFiles(id);
    await consumeFile(env, { bulk_export_file_id: first?.id ?? "" });
    const row = await set(id, { started_at: longAgo() });
    await db
      .update(bulk_export_files)
      .set({ rows_written: 7, bytes_written: 7 })
      .where(and(eq(bulk_export_files.bulk_export_id, id), eq(bulk_export_files.number, 2)));
    await advanceExport(env, id);
    expect((await readFiles(id)).map(({ rows_written }) => rows_written > 0)).toEqual([
      true,
      false,
      false,
    ]);
    await advanceExport(env, id, later());
    expect(await readRow(id)).toMatchObject({
      status: "TIMEDOUT",
      error: expect.stringContaining("72 hours"),
      cleaned_at: expect.anything(),
    });
    expect(await statuses(id)).toEqual(["COMPLETED", "TIMEDOUT", "TIMEDOUT"]);
    expect(await leftovers(row)).toEqual(NOTHING);
    expect(await retry(id)).toMatchObject({
      status: 200,
      body: { status: "CREATED", error: null },
    });
    expect(await carryOn(id)).toMatchObject({ status: "COMPLETED" });
    expect(await contents(row)).toEqual(await asUndisturbed());
  });

  test("an export without a plan is planned by a retry", async () => {
    const { id } = await order(small, { status: "RUNNING", started_at: longAgo() });
    await advanceExport(env, id);
    expect(await readRow(id)).toMatchObject({ status: "TIMEDOUT", planned_at: null });
    await retry(id);
    const row = await carryOn(id);
    expect(row.status).toBe("COMPLETED");
    expect(await contents(row)).toEqual(await asUndisturbed());
  });
});

describe("a dependency of an export disappears", () => {
  async function deleteProject(id: string) {
    expect((await api(`/sessions/${id}`, { key: ours.admin, method: "DELETE" })).status).toBe(202);
  }

  async function expectFailure(id: string, error: string | RegExp) {
    expect(await carryOn(id)).toMatchObject({
      status: "FAILED",
      error: expect.stringMatching(error),
    });
    expect(await statuses(id)).not.toContain("WAITING");
    await advanceExport(env, id, later());
    expect(await readRow(id)).toMatchObject({ status: "FAILED", cleaned_at: expect.anything() });
  }

  test.each(["planning", "writing", "finishing"])("the project, before the %s", async (stage) => {
    const project = await given(ours, { from: "2026-05-05T12:00:00Z", count: 3 });
    const row = stage === "finishing" ? await written(project) : await order(project);
    if (stage === "writing") await planExport(env, await set(row.id, { status: "RUNNING" }));
    await deleteProject(project);
    await expectFailure(row.id, `Project ID ${project} not found`);
    expect(await leftovers(row)).toEqual(NOTHING);
  });

  test("the destination, before the files are written", async () => {
    const { destination_id } = await exporter();
    const { id } = await order(small, { bulk_export_destination_id: destination_id });
    await expectFailure(id, `Destination ID ${destination_id} not found`);
  });

  test("the destination, before the export finishes", async () => {
    const { id } = await written();
    const { destination_id } = await exporter();
    await set(id, { bulk_export_destination_id: destination_id });
    await expectFailure(id, `Destination ID ${destination_id} not found`);
  });

  test("a file, before the export finishes: it is rewritten with the same bytes", async () => {
    const row = await written();
    const { client } = await openBucket(env, row);
    const [first, second] = await readFiles(row.id);
    await client.deleteObject(first?.key ?? "");
    await client.putObject(second?.key ?? "", new Uint8Array([1, 2, 3]));
    expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
    expect((await readFiles(row.id)).map(({ retry_number }) => retry_number)).toEqual([1, 1, 0]);
    expect(await contents(row)).toEqual(await asUndisturbed());
  });

  describe("a file, where HEAD of a missing object answers 403", () => {
    /** Answers as AWS does for credentials without s3:ListBucket, or without s3:GetObject. */
    function forbidHead(isForbidden: (status: number) => boolean) {
      const real = globalThis.fetch;
      const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
        const response = await real(input, init);
        if (init?.method !== "HEAD" || !isForbidden(response.status)) return response;
        return new Response(null, { status: 403 });
      });
      onTestFinished(() => spy.mockRestore());
    }

    test.each([1, 3])("%i of 3 files are rewritten", async (count) => {
      const row = await written();
      const { client } = await openBucket(env, row);
      const files = await readFiles(row.id);
      for (const { key } of files.slice(0, count)) await client.deleteObject(key);
      forbidHead((status) => status === 404);
      expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
      const retries = (await readFiles(row.id)).map(({ retry_number }) => retry_number);
      expect(retries).toEqual(files.map((_, n) => (n < count ? 1 : 0)));
      expect(await contents(row)).toEqual(await asUndisturbed());
    });

    test("a changed one is rewritten too", async () => {
      const row = await written();
      const { client } = await openBucket(env, row);
      const [first, second] = await readFiles(row.id);
      await client.putObject(first?.key ?? "", new Uint8Array([1, 2, 3]));
      await client.deleteObject(second?.key ?? "");
      forbidHead((status) => status === 404);
      expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
      expect((await readFiles(row.id)).map(({ retry_number }) => retry_number)).toEqual([1, 1, 0]);
    });

    test("is trusted when HEAD of every object answers 403", async () => {
      const row = await written();
      forbidHead(() => true);
      expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
      expect((await readFiles(row.id)).map(({ token }) => token)).toEqual([1, 1, 1]);
      expect(await contents(row)).toHaveLength(3);
    });
  });

  test("a file, repeatedly: the export fails with an error, and can be retried", async () => {
    const row = await written();
    const { client } = await openBucket(env, row);
    const [first] = await readFiles(row.id);
    await client.deleteObject(first?.key ?? "");
    await db
      .update(bulk_export_files)
      .set({ retry_number: MAX_RETRIES_PER_FILE })
      .where(eq(bulk_export_files.bulk_export_id, row.id));
    expect(await carryOn(row.id)).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("stop other programs from deleting or overwriting it"),
    });
    expect(await leftovers(row)).toEqual(NOTHING);
    await retry(row.id);
    expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
    expect(await contents(row)).toEqual(await asUndisturbed());
  });
});

test("a day with failed files shows the error of each, not that of another file", async () => {
  const row = await written();
  const [first] = await readFiles(row.id);
  if (!first) throw new Error("There is no file");
  const shown = async () => {
    const { body: runs } = await call<BulkExportRun[]>(ours, `/${row.id}/runs`, "GET");
    return runs[0];
  };
  const add = (number: number, fields: Partial<FileRow>) =>
    db.insert(bulk_export_files).values({
      ...{ ...first, id: `${first.id}-${number}`, number, key: `folder/file-${number}` },
      ...fields,
    });
  await add(8, { errors: { retry_0: "of another" } });
  expect(await shown()).toMatchObject({ errors: { retry_0: "file-8: of another" } });
  const failed = { errors: { retry_0: "of the first" }, status: "FAILED" } as const;
  await db.update(bulk_export_files).set(failed).where(eq(bulk_export_files.id, first.id));
  await add(9, { ...failed, errors: { retry_0: "of the second", retry_1: "again" } });
  expect(await shown()).toMatchObject({
    status: "FAILED",
    errors: {
      retry_0: "part-00000.parquet: of the first\nfile-9: of the second",
      retry_1: "file-9: again",
    },
  });
});

test("the error of an export names each failed file, up to twenty", async () => {
  const row = await written();
  const [first, ...others] = await readFiles(row.id);
  if (!first) throw new Error("There is no file");
  expect(others).not.toEqual([]);
  const errors = { retry_0: "before", retry_1: "at last" };
  await db.update(bulk_export_files).set({ errors, status: "FAILED" }).where(isOf(row.id));
  const lines = async () => (await failureText(env, row.id)).split("\n");
  expect(await lines()).toEqual([first, ...others].map(({ key }) => `${key}: at last`));
  const rest = 21 - others.length;
  for (let n = 0; n < rest; n++) {
    const copy = { id: `${first.id}-${n}`, number: 100 + n, key: `copy-${n}` };
    await db.insert(bulk_export_files).values({ ...first, errors, status: "FAILED", ...copy });
  }
  expect([(await lines()).length, (await lines()).at(-1)]).toEqual([21, "2 more files failed."]);
});

function isOf(id: string) {
  return eq(bulk_export_files.bulk_export_id, id);
}

test("the clean-up deletes nothing of an export that was started again", async () => {
  const row = await written();
  await finishExport(env, row, new AbortController().signal);
  const ended = { status: "FAILED", finished_at: new Date().toISOString() } as const;
  const before = await set(row.id, ended);
  await set(row.id, { status: "RUNNING", finished_at: null });
  await cleanUp(env, before, new Date());
  expect(await leftovers(row)).toMatchObject({ success: true, manifest: true });
});

describe("a bucket that cannot be reached", () => {
  const NOWHERE = "http://127.0.0.1:9";

  async function unreachable(row: ExportRow): Promise<ExportRow> {
    const { destination_id } = await exporter();
    await db
      .update(bulk_export_destinations)
      .set({
        workspace_id: ours.workspace_id,
        config: { bucket_name: "exports", endpoint_url: NOWHERE, prefix: "" } as never,
      })
      .where(eq(bulk_export_destinations.id, destination_id));
    const planned_at = new Date(Date.now() - HOUR_MS).toISOString();
    return set(row.id, { bulk_export_destination_id: destination_id, planned_at });
  }

  test("is retried with pauses until the export's timeout", async () => {
    const row = await unreachable(await written());
    await advanceExport(env, row.id);
    const { status, sent_at, error } = await readRow(row.id);
    expect([status, error]).toEqual(["RUNNING", expect.stringMatching(/^ConnectionFailed: /)]);
    await sweepExports(env, new Date(Date.now() + 60_000));
    expect((await readRow(row.id)).sent_at).toBe(sent_at);
    await set(row.id, { bulk_export_destination_id: ours.destination_id });
    await sweepExports(env, new Date(Date.now() + 400_000));
    expect((await readRow(row.id)).sent_at).not.toBe(sent_at);
    expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED", error: null });
    expect(await contents(row)).toEqual(await asUndisturbed());
  });

  test("is named by the export that times out", async () => {
    const row = await unreachable(await written());
    await advanceExport(env, row.id);
    await set(row.id, { started_at: new Date(Date.now() - 72 * HOUR_MS).toISOString() });
    await advanceExport(env, row.id);
    expect(await readRow(row.id)).toMatchObject({
      status: "TIMEDOUT",
      error: expect.stringMatching(/ Last error: ConnectionFailed: /),
    });
  });

  test("is abandoned a day after the export ended", async () => {
    const row = await unreachable(await written());
    await cancel(ours, row.id);
    await advanceExport(env, row.id, later());
    expect((await readRow(row.id)).cleaned_at).toBeNull();
    await advanceExport(env, row.id, new Date(Date.now() + 25 * HOUR_MS));
    expect((await readRow(row.id)).cleaned_at).not.toBeNull();
  }, 60_000);
});

test("a sixteenth active export of a workspace waits until another ends", async () => {
  const theirs = await exporter();
  const project = await given(theirs, { from: "2026-05-05T12:00:00Z", count: 3 });
  const active = [];
  for (let n = 0; n < MAX_ACTIVE_EXPORTS; n++) {
    const row = await ordered(theirs, project, RANGE);
    await set(row.id, { status: "RUNNING" });
    active.push(row);
  }
  const last = await ordered(theirs, project, RANGE);
  await advanceExport(env, last.id);
  expect(await readRow(last.id)).toMatchObject({ status: "CREATED", started_at: null });
  const { body } = await call<BulkExport>(theirs, `/${last.id}`, "GET");
  expect(body.progress).toMatchObject({ phase: "queued" });
  expect(await cancel(theirs, active[0]?.id ?? "")).toMatchObject({ status: 200 });
  await advanceExport(env, active[0]?.id ?? "");
  expect(await carryOn(last.id)).toMatchObject({ status: "COMPLETED" });
});
