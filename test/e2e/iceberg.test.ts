// A schedule's table, read by independent readers of Iceberg.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { icebergMetadata, icebergRead } from "icebird";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { pythonEnv } from "../../scripts/python-env.ts";
import type { BulkExportManifest } from "../../src/exports/preview/preview-schema.ts";
import type { BulkExport } from "../../src/exports/schema.ts";
import {
  bucketClient,
  createDestination,
  createExport,
  download,
  ended,
  readManifest,
} from "./support/exports.ts";
import { request } from "./support/http.ts";
import { queryParquet } from "./support/parquet.ts";
import { until } from "./support/stack.ts";
import { seedRuns } from "./support/trace-runs.ts";

const run = promisify(execFile);
const python = await pythonEnv();
const s3 = inject("s3");
const WINDOWS = 3;
const HOUR_MS = 3_600_000;
/** The windows are due, and the next one is not for almost an hour. */
const START_MS = Date.now() - WINDOWS * HOUR_MS - 11 * 60_000;
const prefix = `tables ${crypto.randomUUID()}`;

/** id, name, tags, parent_run_ids, start_time in microseconds, inputs. */
type Row = [string, string, string[], string[], number, string];

let folder: string;
let windows: BulkExport[];
let schedule_id: string;
let location: string;
/** Rows by window. */
let expected: Row[][];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-iceberg-"));
  const start_time = new Date(START_MS).toISOString();
  const session_id = await seedRuns({
    from: start_time,
    to: new Date(START_MS + WINDOWS * HOUR_MS).toISOString(),
    count: 300,
  });
  const schedule = await createExport({
    bulk_export_destination_id: await createDestination(prefix),
    session_id,
    start_time,
    interval_hours: 1,
    table_format: "iceberg",
  });
  windows = await until(
    "the end of the windows",
    () => windowsOf(schedule.id),
    (found) => found.filter(({ status }) => status === "COMPLETED").length === WINDOWS,
  );
  schedule_id = schedule.id;
  location = `s3://${s3.bucket}/${prefix}/_tables/${schedule.id}`;
  expected = [];
  for (const { id } of windows) expected.push(await rowsOf(id));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function windowsOf(schedule_id: string): Promise<BulkExport[]> {
  const path = `/api/v1/bulk-exports?source_bulk_export_id=${schedule_id}`;
  const { body } = await request<BulkExport[]>("GET", path);
  return body.toSorted((a, b) => a.start_time.localeCompare(b.start_time));
}

/** Reads the Parquet files of an export without the table. */
async function rowsOf(export_id: string): Promise<Row[]> {
  await ended(export_id);
  const paths = await download(await readManifest(prefix, export_id), folder);
  const rows = await queryParquet(
    paths,
    "SELECT id, name, tags, parent_run_ids, epoch_us(start_time)::DOUBLE AS us, inputs FROM t",
  );
  return rows.map((row) => Object.values(row) as Row).sort(byId);
}

function byId([a]: Row, [b]: Row): number {
  return a < b ? -1 : 1;
}

const upTo = (n: number) =>
  expected
    .slice(0, n + 1)
    .flat()
    .sort(byId);

async function snapshots(): Promise<number[]> {
  const { snapshots: found } = await tableMetadata();
  return (found ?? []).map((each) => Number(each["snapshot-id"]));
}

/** Statements of the schedule, and of each window: they count the rows of what the API prints. */
async function printedStatements(): Promise<string[]> {
  const statements: string[] = [];
  for (const id of [schedule_id, ...windows.map((each) => each.id)]) {
    const path = `/api/v1/bulk-exports/${id}/manifest`;
    const { table } = (await request<BulkExportManifest>("GET", path)).body;
    const sql = table?.statements?.duckdb ?? "";
    statements.push(`SELECT count(*) FROM (${sql.replace(";", "")})`);
  }
  return statements;
}

/** Sends requests for the bucket at AWS to the server of this test run. */
function routeToServer() {
  const client = bucketClient();
  const send = fetch;
  const host = `https://${s3.bucket}.s3.amazonaws.com/`;
  vi.stubGlobal("fetch", async (url: string, init?: RequestInit) => {
    const path = encodeURI(url.slice(host.length));
    return send(await client.sign(`${s3.endpoint}/${s3.bucket}/${path}`, init));
  });
}

async function tableMetadata() {
  routeToServer();
  try {
    return await icebergMetadata({ tableUrl: location });
  } finally {
    vi.unstubAllGlobals();
  }
}

describe("icebird", () => {
  test("reads all windows, and each earlier state", async () => {
    const metadata = await tableMetadata();
    routeToServer();
    try {
      for (const [n, snapshot] of (metadata.snapshots ?? []).entries()) {
        const rows = await icebergRead({
          tableUrl: location,
          metadata: { ...metadata, "current-snapshot-id": snapshot["snapshot-id"] },
        });
        const found = rows.map(
          ({ id, name, tags, parent_run_ids, start_time, inputs }): Row =>
            [
              ...[id, name, tags, parent_run_ids].map((each) => each),
              start_time.getTime() * 1000,
              inputs,
            ] as Row,
        );
        const toMillis = (row: Row): Row => row.with(4, Math.floor(row[4] / 1000) * 1000) as Row;
        expect(found.sort(byId)).toEqual(upTo(n).map(toMillis));
      }
    } finally {
      vi.unstubAllGlobals();
    }
    expect(metadata.snapshots).toHaveLength(WINDOWS);
  });
});

describe.skipIf(python === null)("Python", () => {
  type TableRows = { rows: Row[]; snapshots: Row[][] };
  type Answer = {
    pyiceberg: TableRows & { exports: string[]; start_time_id: number; files_of_last_row: number };
    duckdb: (TableRows & { statements: number[] }) | null;
  };
  let answer: Answer;
  beforeAll(async () => {
    const { endpoint, region, access_key_id, secret_access_key } = s3;
    const given = { endpoint, region, access_key_id, secret_access_key, location };
    const more = { snapshots: await snapshots(), statements: await printedStatements() };
    const script = "test/python/read_table.py";
    const { stdout } = await run(python ?? "", [script, JSON.stringify({ ...given, ...more })], {
      maxBuffer: 64 * 1024 * 1024,
    });
    answer = JSON.parse(stdout) as Answer;
  });

  test("pyiceberg reads all windows, and each earlier state", () => {
    const { pyiceberg } = answer;
    expect(pyiceberg.rows).toEqual(upTo(WINDOWS - 1));
    expect(pyiceberg.snapshots).toEqual([upTo(0), upTo(1), upTo(2)]);
    expect(pyiceberg.exports).toEqual(windows.map(({ id }) => id));
    expect(pyiceberg.start_time_id).toBe(10);
  });

  test("pyiceberg skips files by start_time", () => {
    expect(answer.pyiceberg.files_of_last_row).toBe(1);
  });

  test("DuckDB reads all windows, and each earlier state", ({ skip }) => {
    const { duckdb } = answer;
    if (duckdb === null) return skip("no package has the extension for this machine");
    expect(duckdb.rows).toEqual(upTo(WINDOWS - 1));
    expect(duckdb.snapshots).toEqual([upTo(0), upTo(1), upTo(2)]);
    const rows = [upTo(2), upTo(0), upTo(1), upTo(2)].map(({ length }) => length);
    expect(duckdb.statements).toEqual(rows);
  });
});
