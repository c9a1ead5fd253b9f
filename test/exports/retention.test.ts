import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { isBeingExported } from "../../src/exports/rows.ts";
import { bulk_export_files, type ExportRow } from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { sweepExpiredTraces } from "../../src/traces/deletion/expiry.ts";
import type { ScanChunk } from "../../src/traces/scan/scan-service.ts";
import { DAY_MS, daysAgo, expire, rows } from "../traces/support/expiry.ts";
import { catalogue } from "../traces/support/runs.ts";
import {
  cancel,
  carryOn,
  contents,
  type Exporter,
  exporter,
  given,
  ordered,
} from "./support/exports.ts";

const isoAgo = (days: number) => new Date(daysAgo(days)).toISOString();
const RANGE = { start_time: isoAgo(401), end_time: isoAgo(399) };
const DUE = new Date(daysAgo(-1));

const WEEK_BEFORE = new Date(DUE.getTime() - 7 * DAY_MS).toISOString();

/** Runs of a day whose traces are due in a day. */
async function agedProject(ours: Exporter) {
  const project_id = await given(ours, { from: isoAgo(400), count: 12 });
  return { ours, project_id, name: "" };
}

const order = (ours: Exporter, session_id: string, fields: Partial<ExportRow> = {}) =>
  ordered(ours, session_id, { ...RANGE, ...fields });

test("traces of a day that an export reads expire when it is over, and the export has them all", async () => {
  const place = await agedProject(await exporter());
  const { ours, project_id } = place;
  const row = await order(ours, project_id);
  await sweepExpiredTraces(env, DUE, isBeingExported);
  await expire(place, DUE);
  const ended = await carryOn(row.id);
  expect(ended.status).toBe("COMPLETED");
  const written = await contents(ended);
  expect(written.reduce((sum, [, count]) => sum + count, 0)).toBe(12);
  expect(await rows("partitions", place)).toBe(1);
  await expire(place, DUE);
  expect(await rows("partitions", place)).toBe(0);
});

test("an export that is retried after a week keeps its traces", async () => {
  const place = await agedProject(await exporter());
  await order(place.ours, place.project_id, { created_at: WEEK_BEFORE });
  await expire(place, DUE);
  expect(await rows("partitions", place)).toBe(1);
});

test("an export that was cancelled keeps no trace", async () => {
  const place = await agedProject(await exporter());
  const row = await order(place.ours, place.project_id);
  expect((await cancel(place.ours, row.id)).status).toBe(200);
  await expire(place, DUE);
  expect(await rows("partitions", place)).toBe(0);
});

const ANOTHER_TIME = { start_us: daysAgo(399) * 1000, end_us: daysAgo(398) * 1000 };

// A check at the end of the export may find that a written file has to be written again.
test.each([
  ["is under way keeps its traces", "RUNNING", 1],
  ["is over keeps no trace", "COMPLETED", 0],
] as const)("a day whose late rows are in a file of an export that %s", async (_, status, kept) => {
  const place = await agedProject(await exporter());
  const { id, workspace_id } = await order(place.ours, place.project_id, {
    ...ANOTHER_TIME,
    status,
  });
  const [row] = (await catalogue(place.project_id)).results;
  const { project_id } = place;
  const partition = { project_id, day: row?.day ?? "", slot: row?.slot ?? 0 };
  const chunk = { partition, from_us: 0, to_us: 1, rows: 1, bytes: 1 } as unknown as ScanChunk;
  await database(env)
    .insert(bulk_export_files)
    .values({
      ...{ id: newId(), bulk_export_id: id, workspace_id, number: 0, key: "late-00000", chunk },
      ...{ rows_planned: 1, status: "COMPLETED", token: 0, retry_number: 0, retry_limit: 20 },
      ...{ rows_written: 0, bytes_written: 0, updated_at: new Date().toISOString() },
    });
  await expire(place, DUE);
  expect(await rows("partitions", place)).toBe(kept);
});

test.each<[string, Partial<ExportRow>]>([
  ["of another time", ANOTHER_TIME],
  ["that has not ended for six days", { created_at: WEEK_BEFORE, updated_at: WEEK_BEFORE }],
  ["of another workspace", { workspace_id: crypto.randomUUID() }],
  ["that is a schedule", { status: "INTERVAL_SCHEDULED", interval_hours: 1, end_us: null }],
])("an export %s keeps no trace", async (_, fields) => {
  const place = await agedProject(await exporter());
  await order(place.ours, place.project_id, fields);
  await expire(place, DUE);
  expect(await rows("partitions", place)).toBe(0);
});
