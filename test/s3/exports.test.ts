import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createDestination,
  createExport,
  download,
  ended,
  getObject,
  listExportRuns,
  listKeys,
  noneOpen,
  readManifest,
} from "../e2e/support/exports.ts";
import { request } from "../e2e/support/http.ts";
import { query, queryParquet } from "../e2e/support/parquet.ts";
import { stack } from "../e2e/support/stack.ts";
import { seedRuns } from "../e2e/support/trace-runs.ts";
import { prefix } from "./support/s3.ts";

const START = "2026-03-01T00:00:00Z";
const END = "2026-03-04T00:00:00Z";

let folder: string;
let session_id: string;
let destination: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-exports-"));
  destination = await createDestination(prefix);
  session_id = await seedRuns({ from: START, to: END, count: 300 });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const order = (more: Record<string, unknown> = {}) => ({
  bulk_export_destination_id: destination,
  session_id,
  start_time: START,
  end_time: END,
  ...more,
});

test("an export writes a file for each day, a manifest, and its end event last", async () => {
  const made = await createExport(order());
  expect(made).toMatchObject({ status: "CREATED", tenant_id: stack.tenant_id, filter: null });
  const done = await ended(made.id);
  expect(done).toMatchObject({
    status: "COMPLETED",
    error: null,
    progress: { phase: "finished", rows_written: 300, rows_total: 300, fraction: 1 },
  });
  const base = `${prefix}/export_id=${made.id}/tenant_id=${stack.tenant_id}/session_id=${session_id}/runs`;
  expect((await listKeys(`${prefix}/export_id=${made.id}/`)).sort()).toEqual(
    [1, 2, 3].map((day) => `${base}/year=2026/month=3/day=${day}/part-00000.parquet`),
  );
  expect((await listKeys(`${prefix}/_exports/${made.id}/`)).sort()).toEqual([
    `${prefix}/_exports/${made.id}/_SUCCESS`,
    `${prefix}/_exports/${made.id}/_manifest.json`,
  ]);
  await noneOpen(prefix);
  const runs = await listExportRuns(made.id);
  expect(runs.map((run) => [run.start_time, run.end_time, run.status])).toEqual([
    ["2026-03-01T00:00:00.000000Z", "2026-03-02T00:00:00.000000Z", "COMPLETED"],
    ["2026-03-02T00:00:00.000000Z", "2026-03-03T00:00:00.000000Z", "COMPLETED"],
    ["2026-03-03T00:00:00.000000Z", "2026-03-04T00:00:00.000000Z", "COMPLETED"],
  ]);
  const manifest = await readManifest(prefix, made.id);
  expect(manifest.rows).toBe(300);
  const paths = await download(manifest, folder);
  const [counted] = await queryParquet(
    paths,
    "SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS ids, min(day)::INT AS day FROM t",
  );
  expect(counted).toEqual({ rows: 300, ids: 300, day: 1 });
});

/** The guides of ClickHouse, BigQuery, Athena, Snowflake and DuckDB. */
test("the recipes of import guides read the bucket as it is", async () => {
  const { id } = await createExport(order());
  expect(await ended(id)).toMatchObject({ status: "COMPLETED" });
  const bucket = join(folder, "bucket");
  const keys = [`export_id=${id}/`, `_exports/${id}/`].map((path) => listKeys(`${prefix}/${path}`));
  for (const key of (await Promise.all(keys)).flat()) {
    await mkdir(dirname(join(bucket, key)), { recursive: true });
    await writeFile(join(bucket, key), await getObject(key));
  }
  const { statements } = await readManifest(prefix, id);
  const local = (sql: string) => sql.replace(/s3:\/\/[^/]+/, bucket);
  const location = /LOCATION '(.*)'/.exec(local(statements.athena))?.[1] ?? "";
  const values: Record<string, string> = { bucket, prefix, export_id: id, location };
  const guides = await readFile("test/published/import_guides.sql", "utf8");
  const published = guides.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  const recipes = published.split(";").slice(0, -1);
  expect(recipes).toHaveLength(5);
  for (const sql of recipes) {
    expect([sql, ...(await query(sql))]).toEqual([sql, { rows: 300, runs: 300, days: 3 }]);
  }
  const printed = `SELECT count(*)::INT AS n FROM (${local(statements.duckdb).replace(";", "")})`;
  expect(await query(printed)).toEqual([{ n: 300 }]);
});

test("a filter and fields limit rows and columns", async () => {
  const made = await createExport(
    order({ filter: 'eq(run_type, "llm")', export_fields: ["id", "name", "start_time"] }),
  );
  expect(await ended(made.id)).toMatchObject({ status: "COMPLETED" });
  const manifest = await readManifest(prefix, made.id);
  expect(manifest.schema.map(({ name }) => name)).toEqual(["id", "name", "start_time"]);
  expect(manifest.rows).toBe(100);
});

test("a range of ten years without a row is an export of no rows", async () => {
  const made = await createExport(
    order({ start_time: "2010-01-01T00:00:00Z", end_time: "2020-01-01T00:00:00Z" }),
  );
  expect(await ended(made.id)).toMatchObject({ status: "COMPLETED", progress: { rows_total: 0 } });
  const manifest = await readManifest(prefix, made.id);
  expect(manifest).toMatchObject({ rows: 0, files: [], watermark: null });
  const runs = await listExportRuns(made.id);
  expect(runs.length).toBe(3652);
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["COMPLETED"]));
});

test("the same Idempotency-Key makes one export", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const [one, two] = await Promise.all([
    createExport(order(), headers),
    createExport(order(), headers),
  ]);
  expect(one.id).toBe(two.id);
  const other = await request("POST", "/api/v1/bulk-exports", order({ filter: "" }), headers);
  expect(other.status).toBe(409);
  await ended(one.id);
});
