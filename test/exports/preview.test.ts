import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { openBucket } from "../../src/exports/destinations/bucket.ts";
import type {
  BulkExportManifest,
  BulkExportPreview,
} from "../../src/exports/preview/preview-schema.ts";
import type { ExportRow } from "../../src/exports/table.ts";
import { toIso } from "../../src/shared/times.ts";
import { fillBudget } from "../support/memory-budget.ts";
import { COMPRESSIONS } from "../support/parquet.ts";
import { api, workspace } from "../support/workspace.ts";
import { batch, projectId, wireRun } from "../traces/support/runs.ts";
import {
  carryOn,
  contents,
  type Exporter,
  exporter,
  ordered,
  readFiles,
} from "./support/exports.ts";

const NOON = Date.parse("2026-05-05T12:00:00Z");
const DAY = 86_400_000;
const RANGE = { start_time: "2026-05-05T00:00:00Z", end_time: "2026-05-08T00:00:00Z" };

let ours: Exporter;
let session_id: string;
beforeAll(async () => {
  ours = await exporter();
  const runs = Array.from({ length: 30 }, (_, n) => {
    const at = NOON + (n % 3) * DAY + n;
    const inputs = { text: "é".repeat(n === 0 ? 5000 : 5) };
    // A byte order mark is a character like any other.
    const name = n === 9 ? "\ufeffn9" : `n${n}`;
    const fields = { name, inputs, tags: ["a", "b"], end_time: at + 1500, outputs: {} };
    return wireRun("previewed", fields, { at });
  });
  expect((await batch(ours.editor, runs)).status).toBe(202);
  session_id = (await projectId(ours.viewer, "previewed")) ?? "";
});

async function exported(fields: Partial<ExportRow> = {}): Promise<ExportRow> {
  const { id } = await ordered(ours, session_id, { ...RANGE, ...fields });
  const row = await carryOn(id);
  expect(row).toMatchObject({ status: "COMPLETED", error: null });
  return row;
}

function open(id: string, path: string, key = ours.viewer): Promise<Response> {
  return api(`/api/v1/bulk-exports/${id}/${path}`, { key });
}

async function read<T>(id: string, path: string): Promise<T> {
  const response = await open(id, path);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as T;
}

describe("a preview", () => {
  test.each(COMPRESSIONS)(
    "has the first rows of a file with compression %s",
    async (compression) => {
      const { id } = await exported({ compression });
      const found = await read<BulkExportPreview>(id, "preview?limit=4");
      expect(found).toMatchObject({ rows_total: 10, omitted_columns: [] });
      expect(found.rows.map(({ values }) => values.name)).toEqual(["n0", "n3", "n6", "\ufeffn9"]);
      expect(found.rows[0]?.cut).toEqual(["inputs"]);
      expect(String(found.rows[0]?.values.inputs)).toHaveLength(2000);
      expect(found.rows[1]).toMatchObject({
        cut: [],
        values: {
          session_id,
          run_type: "chain",
          status: "success",
          is_root: true,
          start_time: toIso((NOON + 3) * 1000 + 1),
          end_time: toIso((NOON + 1503) * 1000),
          inputs: '{"text":"ééééé"}',
          tags: ["a", "b"],
          parent_run_id: null,
          total_tokens: null,
        },
      });
      expect(Object.keys(found.rows[1]?.values ?? {})).toEqual(found.columns);
    },
  );

  test("waits while the isolate has no memory for it", async () => {
    const { id } = await exported();
    const release = await fillBudget();
    let isAnswered = false;
    const answer = read<BulkExportPreview>(id, "preview").finally(() => {
      isAnswered = true;
    });
    await scheduler.wait(1000);
    expect(isAnswered).toBe(false);
    await release();
    expect((await answer).rows).toHaveLength(10);
  });

  test("is of the file that its key names, and of the columns of the export", async () => {
    const { id } = await exported({ export_fields: ["name", "tags"] });
    const [, second] = await readFiles(id);
    const found = await read<BulkExportPreview>(id, `preview?limit=1&key=${second?.key}`);
    expect(found).toMatchObject({
      key: second?.key,
      rows: [{ values: { name: "n1", tags: ["a", "b"] }, cut: [] }],
    });
  });

  test("of an export without rows is empty", async () => {
    const { id } = await exported({ filter: 'eq(name, "none")' });
    expect(await read(id, "preview")).toMatchObject({ key: null, rows: [] });
  });

  test("names the reason when the object was changed or deleted", async () => {
    const row = await exported();
    const [file] = await readFiles(row.id);
    const key = file?.key ?? "";
    const { client } = await openBucket(env, row);
    await client.putObject(key, new Uint8Array(file?.bytes_written ?? 0));
    const changed = await open(row.id, "preview");
    expect([changed.status, await changed.text()]).toEqual([
      400,
      expect.stringMatching(/PreconditionFailed.*create another export/),
    ]);
    await client.deleteObject(key);
    const gone = await open(row.id, "preview");
    expect([gone.status, await gone.text()]).toEqual([400, expect.stringMatching(/NoSuchKey/)]);
  });
});

test("the manifest has the files, their hashes and SQL, as the one in the bucket", async () => {
  const row = await exported();
  const manifest = await read<BulkExportManifest>(row.id, "manifest");
  expect(manifest).toMatchObject({ export_id: row.id, rows: 30, late_files: [] });
  const inBucket = (await contents(row)).map(([, rows, sha256]) => [rows, sha256]);
  expect(manifest.files.map(({ rows, sha256 }) => [rows, sha256])).toEqual(inBucket);
  expect(manifest.statements?.duckdb).toContain("read_parquet('s3://");
});

test("refuses other workspaces, and keys of other exports", async () => {
  const [{ id }, other] = [await exported(), await exported()];
  const theirs = await workspace();
  for (const path of ["preview", "manifest"]) {
    expect((await open(id, path, theirs.admin)).status).toBe(404);
  }
  const [file] = await readFiles(other.id);
  for (const query of [`key=${file?.key}`, "limit=0", "limit=101"]) {
    const response = await open(id, `preview?${query}`);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/key|limit/),
    ]);
  }
});
