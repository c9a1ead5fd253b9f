import { expect, test } from "vitest";
import { EXPORT_FIELDS } from "../../src/console/exports/draft.ts";
import { COLUMNS, selectColumns, sourcesOf } from "../../src/exports/columns.ts";
import { dayFolder, partKey, rootOf } from "../../src/exports/keys.ts";
import { toManifest } from "../../src/exports/progress/manifest.ts";
import { schemaStatements } from "../../src/exports/schema-statements.ts";
import type { ExportRow, FileRow } from "../../src/exports/table.ts";

const names = (fields: readonly string[] | null) => selectColumns(fields).map(({ name }) => name);

test("all fields are exported when none are named", () => {
  expect(names(null)).toEqual([
    ...["id", "tenant_id", "session_id", "trace_id", "parent_run_id", "parent_run_ids"],
    ...["reference_example_id", "name", "run_type", "start_time", "end_time", "status", "is_root"],
    ...["dotted_order", "trace_tier", "inputs", "outputs", "error", "extra", "events", "tags"],
    ...["feedback_stats", "total_tokens", "prompt_tokens", "completion_tokens", "total_cost"],
    ...["prompt_cost", "completion_cost", "first_token_time"],
  ]);
});

test("the console's form offers all fields, in their order", () => {
  expect(EXPORT_FIELDS).toEqual(names(null));
});

test("ids are the ones of tables that exist", () => {
  expect(Object.fromEntries(COLUMNS.map(({ id, name }) => [name, id]))).toEqual({
    ...{ id: 1, tenant_id: 2, session_id: 3, trace_id: 4, parent_run_id: 5, parent_run_ids: 6 },
    ...{ reference_example_id: 7, name: 8, run_type: 9, start_time: 10, end_time: 11, status: 12 },
    ...{ is_root: 13, dotted_order: 14, trace_tier: 15, inputs: 16, outputs: 17, error: 18 },
    ...{ extra: 19, events: 20, tags: 21, feedback_stats: 22, total_tokens: 23 },
    ...{ prompt_tokens: 24, completion_tokens: 25, total_cost: 26, prompt_cost: 27 },
    ...{ completion_cost: 28, first_token_time: 29 },
  });
});

test("named fields come once, in the order of the list", () => {
  expect(names(["outputs", "id", "outputs"])).toEqual(["id", "outputs"]);
});

test("unknown fields are rejected by name, and so is an empty list", () => {
  expect(() => selectColumns(["id", "session", "ID"])).toThrow(
    "export_fields: no such field: session, ID",
  );
  expect(() => selectColumns([])).toThrow("export_fields must have at least one field");
});

test("a scan reads each source once and no constants", () => {
  expect(sourcesOf(selectColumns(["id", "session_id", "dotted_order", "parent_run_ids"]))).toEqual([
    "id",
    "dotted_order",
    "parent_run_id",
  ]);
});

test("a manifest's statements read the folder of its export, below any prefix", () => {
  const ids = { id: "1", workspace_id: "2", session_id: "3", key_base: "lake/runs/prod/" };
  const row = { ...ids, export_fields: null, watermarks: null, start_us: 0, end_us: null };
  const key = partKey(dayFolder(rootOf(row), 0), "part", 1);
  const file = { key, run_id: "r", min_start_us: null, max_start_us: null };
  const target = { bucket_name: "b", bucket_url: "gs://b", table: null };
  const { statements } = toManifest(row as ExportRow, [file as FileRow], target);
  const folder = "gs://b/lake/runs/prod/export_id=1/tenant_id=2/session_id=3/runs";
  expect(statements?.athena).toContain(`LOCATION '${folder}/'`);
  expect(`gs://b/${key}`).toContain(`${folder}/`);
});

test("the statements name every column once, and partitions that are not columns", () => {
  const { duckdb, athena } = schemaStatements(COLUMNS, "s3://traces/it's/runs/");
  expect(duckdb).toContain("read_parquet('s3://traces/it''s/runs/*/*/*/*.parquet'");
  expect(athena).toContain("LOCATION 's3://traces/it''s/runs/'");
  for (const { name } of COLUMNS) expect(athena.split(`\`${name}\``)).toHaveLength(2);
  expect(athena).toContain("`parent_run_ids` array<string>");
  expect(athena).toContain("`start_time` timestamp");
});
