import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { attemptFile } from "../../../src/exports/files/file-attempt.ts";
import { claimFile } from "../../../src/exports/files/file-lease.ts";
import { manifestKey, rootOf } from "../../../src/exports/keys.ts";
import type { BulkExportManifest } from "../../../src/exports/preview/preview-schema.ts";
import { advanceExport } from "../../../src/exports/progress/advance.ts";
import type { BulkExport } from "../../../src/exports/schema.ts";
import { bulk_export_tables, bulk_exports, type TableRow } from "../../../src/exports/table.ts";
import { database } from "../../../src/shared/context.ts";
import {
  call,
  cancel,
  carryOn,
  type Exporter,
  exporter,
  given,
  readFiles,
  readObject,
  readRow,
} from "../support/exports.ts";
import { hour, openTable, readTable, scan, scheduleTable, spawnWindow } from "./support.ts";

const HALF_HOUR_MS = 1_800_000;
const db = database(env);

let ours: Exporter;
beforeEach(async () => {
  ours = await exporter();
});

/** Six runs: two in each of three windows. */
const sixRuns = () => given(ours, { from: hour(0), count: 6, step_ms: HALF_HOUR_MS });

describe("the table of a schedule", () => {
  test("has one snapshot for each window, which names the export and its files", async () => {
    const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 0);
    expect(schedule).toMatchObject({ table_format: "iceberg" });
    for (const n of [0, 1, 2]) {
      exports.push(await spawnWindow(schedule.id, n));
      expect(await carryOn(exports[n] ?? "")).toMatchObject({
        status: "COMPLETED",
        table_format: "iceberg",
      });
    }
    const { version, metadata } = await openTable(schedule.id);
    expect(version).toBe(3);
    expect(metadata).toMatchObject({
      "format-version": 2,
      "table-uuid": schedule.id,
      "last-sequence-number": 3,
      "current-snapshot-id": metadata.snapshots[2]?.["snapshot-id"],
    });
    for (const [n, id] of exports.entries()) {
      const { snapshot, files, rows } = await scan(
        metadata,
        metadata.snapshots[n]?.["snapshot-id"],
      );
      expect(rows).toBe((n + 1) * 2);
      expect(snapshot).toMatchObject({
        "sequence-number": n + 1,
        summary: {
          operation: "append",
          "added-records": "2",
          "total-records": `${rows}`,
          "heddle.export-id": id,
          "heddle.window-index": `${n}`,
          "heddle.window-start": hour(n).replace("Z", "000Z"),
          "heddle.window-end": hour(n + 1).replace("Z", "000Z"),
        },
      });
      const written = await readFiles(id);
      expect(files.filter(({ version }) => version === n + 1)).toEqual(
        written.map(({ key, rows_written, bytes_written }) => ({
          key,
          rows: rows_written,
          bytes: bytes_written,
          status: 1,
          version: n + 1,
          snapshot_id: snapshot["snapshot-id"],
        })),
      );
    }
  });

  test("gets each window once, in the order of their ends, however often they finish", async () => {
    const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 3);
    const [first, second, third] = exports;
    await Promise.all([first, third, second, third, first].map((id) => carryOn(id ?? "")));
    await Promise.all(exports.map((id) => advanceExport(env, id)));
    const { version, metadata } = await openTable(schedule.id);
    expect(version).toBe(3);
    const ids = metadata.snapshots.map(({ summary }) => summary["heddle.export-id"]);
    expect(ids.toSorted()).toEqual(exports.toSorted());
    const { rows, files } = await scan(metadata);
    expect(rows).toBe(6);
    expect(new Set(files.map(({ key }) => key)).size).toBe(files.length);
  });

  test("lacks windows that were cancelled or failed, and gets a retried one later", async () => {
    const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 3);
    const [first = "", second = "", third = ""] = exports;
    expect(await cancel(ours, first)).toMatchObject({ status: 200 });
    await db.update(bulk_exports).set({ status: "FAILED" }).where(eq(bulk_exports.id, second));
    await carryOn(third);
    const before = await openTable(schedule.id);
    expect((await scan(before.metadata)).rows).toBe(2);
    expect(await call<BulkExport>(ours, `/${second}/retry`, "POST")).toMatchObject({ status: 200 });
    expect(await carryOn(second)).toMatchObject({ status: "COMPLETED" });
    const { metadata } = await openTable(schedule.id);
    const ids = metadata.snapshots.map(({ summary }) => summary["heddle.export-id"]);
    expect(ids).toEqual([third, second]);
    expect((await scan(metadata)).rows).toBe(4);
  });

  test("gets late rows with the window that carries them", async () => {
    const project_id = await given(ours, { from: hour(0), count: 1 });
    const { schedule } = await scheduleTable(ours, project_id, 0, { late_rows: true });
    await carryOn(await spawnWindow(schedule.id, 0));
    await given(ours, { project_id, from: hour(0.5), count: 3 });
    await given(ours, { project_id, from: hour(1), count: 2 });
    await carryOn(await spawnWindow(schedule.id, 1));
    const { metadata } = await openTable(schedule.id);
    expect(metadata.snapshots.map(({ summary }) => summary["added-records"])).toEqual(["1", "5"]);
    const { files } = await scan(metadata);
    expect(files.map(({ key, rows }) => [key.replace(/.*\//, ""), rows])).toEqual([
      ["part-00000.parquet", 1],
      ["part-00000.parquet", 2],
      ["late-00000.parquet", 3],
    ]);
  });

  test("gets late rows that a cancelled window has written, once", async () => {
    const project_id = await given(ours, { from: hour(0), count: 1 });
    const { schedule } = await scheduleTable(ours, project_id, 0, { late_rows: true });
    await carryOn(await spawnWindow(schedule.id, 0));
    await given(ours, { project_id, from: hour(0.5), count: 3 });
    const second = await spawnWindow(schedule.id, 1);
    await advanceExport(env, second);
    for (const { id } of await readFiles(second)) {
      const file = await claimFile(env, id, new Date());
      if (file) await attemptFile(env, file);
    }
    expect(await readFiles(second)).toMatchObject([{ status: "COMPLETED", rows_written: 3 }]);
    await cancel(ours, second);
    await carryOn(await spawnWindow(schedule.id, 2));
    await carryOn(await spawnWindow(schedule.id, 3));
    const { metadata } = await openTable(schedule.id);
    const added = metadata.snapshots.map(({ summary }) => summary["added-records"]);
    expect(added).toEqual(["1", "3", "0"]);
  });

  test("has a snapshot also of a window without runs", async () => {
    const project = await given(ours, { from: hour(1), count: 2 });
    const { schedule } = await scheduleTable(ours, project, 0);
    for (const n of [0, 1, 2]) await carryOn(await spawnWindow(schedule.id, n));
    const { metadata } = await openTable(schedule.id);
    const totals = metadata.snapshots.map(({ summary }) => summary["total-records"]);
    expect(totals).toEqual(["0", "2", "2"]);
    const manifests = await Promise.all(
      metadata.snapshots.map(async (each) => (await scan(metadata, each["snapshot-id"])).manifests),
    );
    expect(manifests.map(({ length }) => length)).toEqual([0, 1, 1]);
  });

  test("has the columns of the schedule, by their ids", async () => {
    const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 1, {
      export_fields: ["tags", "start_time", "id"],
    });
    await carryOn(exports[0] ?? "");
    const { metadata } = await openTable(schedule.id);
    expect(metadata["last-column-id"]).toBe(1021);
    expect(metadata.schemas[0]?.fields).toEqual([
      { id: 1, name: "id", required: false, type: "string" },
      { id: 10, name: "start_time", required: false, type: "timestamptz" },
      {
        id: 21,
        name: "tags",
        required: false,
        type: { type: "list", "element-id": 1021, element: "string", "element-required": false },
      },
    ]);
  });

  test("stays when the schedule is cancelled, and gets the windows that are at work", async () => {
    const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 2);
    await carryOn(exports[0] ?? "");
    await cancel(ours, schedule.id);
    await carryOn(exports[1] ?? "");
    expect((await scan((await openTable(schedule.id)).metadata)).rows).toBe(4);
  });
});

test("the manifest has the table and its statements, of the newest version or of a window", async () => {
  const { schedule } = await scheduleTable(ours, await sixRuns(), 0);
  const manifestOf = async (id: string) =>
    (await call<BulkExportManifest>(ours, `/${id}/manifest`, "GET")).body.table;
  expect(await manifestOf(schedule.id)).toMatchObject({ version: null, statements: null });
  const exports: string[] = [];
  for (const n of [0, 1]) {
    exports.push(await spawnWindow(schedule.id, n));
    await carryOn(exports[n] ?? "");
  }
  const { metadata } = await openTable(schedule.id);
  const { location } = metadata;
  expect(await manifestOf(schedule.id)).toEqual({
    format: "iceberg",
    location,
    version: 2,
    snapshot_id: null,
    metadata_location: `${location}/metadata/v2.metadata.json`,
    statements: expect.objectContaining({
      duckdb: expect.stringContaining(`iceberg_scan('${location}')`),
    }),
  });
  const snapshot_id = metadata.snapshots[0]?.["snapshot-id"];
  const ofWindow = await manifestOf(exports[0] ?? "");
  expect(ofWindow).toMatchObject({ version: 1, snapshot_id, location });
  const names = ["athena", "athena_register", "bigquery", "duckdb", "snowflake", "spark"];
  expect(Object.keys(ofWindow?.statements ?? {}).toSorted()).toEqual(names);
  for (const [name, text] of Object.entries(ofWindow?.statements ?? {})) {
    const isPinned = ["duckdb", "athena", "spark"].includes(name);
    expect(text).toContain(isPinned ? `${snapshot_id}` : "/metadata/v1.metadata.json");
  }
  const row = await readRow(exports[0] ?? "");
  const stored = new TextDecoder().decode(await readObject(manifestKey(rootOf(row))));
  expect(JSON.parse(stored).table).toEqual(ofWindow);
});

test("the manifest of an old window names metadata that the bucket has", async () => {
  const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 1);
  const [id = ""] = exports;
  await carryOn(id);
  const tableOf = async () =>
    (await call<BulkExportManifest>(ours, `/${id}/manifest`, "GET")).body.table;
  const { metadata } = await readTable(schedule.id);
  if (metadata === null) throw new Error("There is no metadata");
  const set = (fields: Partial<TableRow>) =>
    db
      .update(bulk_export_tables)
      .set(fields)
      .where(eq(bulk_export_tables.schedule_id, schedule.id));
  await set({ version: 101, published_version: 101 });
  expect((await tableOf())?.metadata_location).toContain("/metadata/v1.metadata.json");
  await set({ version: 102, published_version: 102 });
  const table = await tableOf();
  expect(table).toMatchObject({
    version: 1,
    metadata_location: expect.stringContaining("/metadata/v102.metadata.json"),
  });
  const names = ["athena", "athena_register", "duckdb", "spark"];
  expect(Object.keys(table?.statements ?? {}).toSorted()).toEqual(names);
  const snapshots = metadata.snapshots.map((each) => ({ ...each, "sequence-number": 2 }));
  await set({ metadata: { ...metadata, snapshots } });
  expect((await tableOf())?.statements).toBeNull();
});

test("the manifest of a window names no version before its metadata is written", async () => {
  const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 1);
  const [id = ""] = exports;
  await carryOn(id);
  await db
    .update(bulk_export_tables)
    .set({ published_version: 0 })
    .where(eq(bulk_export_tables.schedule_id, schedule.id));
  const { table } = (await call<BulkExportManifest>(ours, `/${id}/manifest`, "GET")).body;
  expect(table).toMatchObject({ version: null, metadata_location: null, statements: null });
});

test("an export whose window is in the table cannot be cancelled", async () => {
  const { exports } = await scheduleTable(ours, await sixRuns(), 1);
  const [id = ""] = exports;
  await carryOn(id);
  await db.update(bulk_exports).set({ status: "RUNNING" }).where(eq(bulk_exports.id, id));
  const refused = await cancel(ours, id);
  expect(refused).toMatchObject({
    status: 409,
    body: { detail: "The export is RUNNING and cannot be cancelled: its table has the window." },
  });
  expect(await carryOn(id)).toMatchObject({ status: "COMPLETED", table_version: 1 });
});

test("a schedule without table_format has no table", async () => {
  const { schedule, exports } = await scheduleTable(ours, await sixRuns(), 1, {
    table_format: null,
  });
  await carryOn(exports[0] ?? "");
  await expect(readTable(schedule.id)).rejects.toThrow("There is no table");
});
