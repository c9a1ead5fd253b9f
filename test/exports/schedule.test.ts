import { env } from "cloudflare:workers";
import { and, asc, eq, inArray } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { organizations, workspaces } from "../../src/control-plane/workspaces/table.ts";
import { MAX_CREATES_PER_HOUR, MAX_SCHEDULES } from "../../src/exports/limits.ts";
import { advanceExport } from "../../src/exports/progress/advance.ts";
import { planExport } from "../../src/exports/progress/plan.ts";
import { spawnWindows } from "../../src/exports/progress/schedule.ts";
import type { BulkExport } from "../../src/exports/schema.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { toIso } from "../../src/shared/times.ts";
import { api, workspace } from "../support/workspace.ts";
import { batch, patch, wireRun } from "../traces/support/runs.ts";
import {
  call,
  cancel,
  carryOn,
  contents,
  type Exporter,
  exporter,
  given,
  ordered,
  readRow,
} from "./support/exports.ts";

const START = "2026-05-05T00:00:00Z";
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const db = database(env);

const day = (n: number) => new Date(Date.parse(START) + n * DAY_MS);
const noon = (n: number) => new Date(day(n).getTime() + DAY_MS / 2).toISOString();
/** Time at which the window of day n is due. */
const due = (n: number) => new Date(day(n + 1).getTime() + 10 * MINUTE_MS);

let ours: Exporter;
beforeEach(async () => {
  ours = await exporter();
});

async function scheduled(session_id: string, fields: Record<string, unknown> = {}) {
  const { status, body } = await call<BulkExport>(ours, "", "POST", {
    bulk_export_destination_id: ours.destination_id,
    session_id,
    start_time: START,
    interval_hours: 24,
    format_version: "v2_beta",
    compression: "none",
    ...fields,
  });
  expect([status, body.status]).toEqual([200, "INTERVAL_SCHEDULED"]);
  return body;
}

function windowsOf(schedule_id: string): Promise<ExportRow[]> {
  return db
    .select()
    .from(bulk_exports)
    .where(eq(bulk_exports.source_bulk_export_id, schedule_id))
    .orderBy(asc(bulk_exports.created_at), asc(bulk_exports.window_index));
}

async function windowAt(schedule_id: string, index: number): Promise<ExportRow> {
  const [row] = await db
    .select()
    .from(bulk_exports)
    .where(
      and(
        eq(bulk_exports.source_bulk_export_id, schedule_id),
        eq(bulk_exports.window_index, index),
      ),
    );
  if (!row) throw new Error(`There is no window ${index}`);
  return row;
}

/** Returns the keys of a window's files below the session, with their rows. */
async function filesOf(schedule_id: string, index: number): Promise<Record<string, number>> {
  const { id } = await windowAt(schedule_id, index);
  const row = await carryOn(id);
  expect(row).toMatchObject({ status: "COMPLETED", error: null });
  const found = await contents(row);
  return Object.fromEntries(
    found.map(([key, rows]) => [key.replace(/^tenant_id=[^/]*\/session_id=[^/]*\//, ""), rows]),
  );
}

const file = (n: number, kind = "part") =>
  `runs/year=2026/month=5/day=${5 + n}/${kind}-00000.parquet`;
const lateFile = (n: number) => file(n, "late");

describe("windows", () => {
  test("are spawned ten minutes after their end, once by concurrent callers", async () => {
    const { id } = await scheduled(await given(ours, { from: noon(0), count: 1 }));
    await spawnWindows(env, new Date(due(0).getTime() - 1));
    expect(await windowsOf(id)).toEqual([]);
    await Promise.all(Array.from({ length: 4 }, () => spawnWindows(env, due(0))));
    await Promise.all(Array.from({ length: 4 }, () => spawnWindows(env, due(0))));
    expect((await windowsOf(id)).map(({ window_index }) => window_index)).toEqual([0]);
  });

  test("that were missed are spawned in order, without a gap", async () => {
    const { id } = await scheduled(await given(ours, { from: noon(0), count: 1 }));
    await Promise.all([spawnWindows(env, due(6)), spawnWindows(env, due(6))]);
    const windows = await windowsOf(id);
    expect(
      windows.map((row) => [row.window_index, toIso(row.start_us), toIso(row.end_us ?? 0)]),
    ).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((n) => [
        n,
        day(n).toISOString().replace("Z", "000Z"),
        day(n + 1)
          .toISOString()
          .replace("Z", "000Z"),
      ]),
    );
  });

  test("wait while a quota of the workspace is used up", async () => {
    const { id } = await scheduled(await given(ours, { from: noon(0), count: 1 }));
    const put = (quotas: unknown[]) =>
      api("/v1/quotas", { key: ours.admin, method: "PUT", json: { quotas } });
    expect((await put([{ meter: "export_rows", period: "day", limit: 0 }])).status).toBe(200);
    await spawnWindows(env, due(1));
    expect(await windowsOf(id)).toEqual([]);
    await put([]);
    await spawnWindows(env, due(1));
    expect((await windowsOf(id)).map(({ window_index }) => window_index)).toEqual([0, 1]);
  });

  test("continue when their schedule is cancelled, and no more are spawned", async () => {
    const { id } = await scheduled(await given(ours, { from: noon(0), count: 4 }));
    await spawnWindows(env, due(0));
    expect(await cancel(ours, id)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
    await spawnWindows(env, due(3));
    expect((await windowsOf(id)).length).toBe(1);
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 4 });
    expect(await readRow(id)).toMatchObject({ cleaned_at: expect.anything() });
  });

  test("are planned one after the other", async () => {
    const project = await given(ours, { from: noon(0), count: 2 });
    const { id } = await scheduled(project);
    await cancel(ours, id);
    await ordered(ours, project, {
      start_time: day(0).toISOString(),
      end_time: day(1).toISOString(),
      source_bulk_export_id: id,
      window_index: 0,
    });
    const second = await ordered(ours, project, {
      start_time: day(1).toISOString(),
      end_time: day(2).toISOString(),
      source_bulk_export_id: id,
      window_index: 1,
    });
    await advanceExport(env, second.id);
    expect(await readRow(second.id)).toMatchObject({ status: "CREATED", planned_at: null });
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 2 });
    expect(await filesOf(id, 1)).toEqual({});
  });
});

describe("rows that arrive late", () => {
  test("are in the next window's export, once", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    const { id } = await scheduled(project_id, { late_rows: true });
    await spawnWindows(env, due(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    await given(ours, { from: noon(0), count: 2, project_id });
    await given(ours, { from: noon(1), count: 5, project_id });
    await spawnWindows(env, due(1));
    expect(await filesOf(id, 1)).toEqual({ [file(1)]: 5, [lateFile(0)]: 2 });
    const windows = await api(`/api/v1/bulk-exports?source_bulk_export_id=${id}`, {
      key: ours.viewer,
    });
    expect(await windows.json()).toMatchObject([
      { progress: { rows_written: 7, late_rows_written: 2 } },
      { progress: { rows_written: 3, late_rows_written: 0 } },
    ]);
    const idsOf = async (kind: string) => {
      const query = `session_id=${project_id}&kind=${kind}`;
      const listed = await api(`/api/v1/bulk-exports?${query}`, { key: ours.viewer });
      return (await listed.json<{ id: string }[]>()).map((each) => each.id);
    };
    const once = await ordered(ours, project_id, { start_time: noon(0), end_time: noon(1) });
    expect(await idsOf("once")).toEqual([once.id]);
    expect(await idsOf("schedule")).toEqual([id]);
    expect(await idsOf("window")).toHaveLength(2);
    await given(ours, { from: noon(0), count: 1, project_id });
    await given(ours, { from: noon(1), count: 1, project_id });
    await given(ours, { from: noon(-1), count: 1, project_id });
    await spawnWindows(env, due(3));
    expect(await filesOf(id, 2)).toEqual({ [lateFile(0)]: 1, [lateFile(1)]: 1 });
    expect(await filesOf(id, 3)).toEqual({});
  });

  test("are runs too whose start a patch moves into a window that was exported", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    const { session_name: _, ...run } = wireRun("", {}, { at: Date.parse(noon(1)) });
    await batch(ours.editor, [{ ...run, session_id: project_id }]);
    const { id } = await scheduled(project_id, { late_rows: true });
    await spawnWindows(env, due(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    expect((await patch(ours.editor, run.id, { start_time: noon(0) })).status).toBe(202);
    await spawnWindows(env, due(2));
    expect(await filesOf(id, 1)).toEqual({ [lateFile(0)]: 1 });
    expect(await filesOf(id, 2)).toEqual({});
  });

  test("are in a partition too that the catalogue does not yet show to have them", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    const { id } = await scheduled(project_id, { late_rows: true });
    await spawnWindows(env, due(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    const { session_name: _, ...run } = wireRun("", {}, { at: Date.parse(noon(6)) });
    await batch(ours.editor, [{ ...run, session_id: project_id }]);
    const setStarts = (at: string) =>
      env.DB.prepare(
        "UPDATE partitions SET min_start_us = ?, max_start_us = ? WHERE project_id = ? AND day = ?",
      )
        .bind(Date.parse(at) * 1000, Date.parse(at) * 1000, project_id, noon(6).slice(0, 10))
        .run();
    await spawnWindows(env, due(4));
    for (const n of [1, 2, 3]) expect(await filesOf(id, n)).toEqual({});
    expect((await patch(ours.editor, run.id, { start_time: noon(0) })).status).toBe(202);
    await setStarts(noon(6));
    expect(await filesOf(id, 4)).toEqual({ [lateFile(0)]: 1 });
  });

  test("are those too that a patch moves into the window from a partition that it did not read", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    const { session_name: _, ...run } = wireRun("", {}, { at: Date.parse(noon(-1)) });
    await batch(ours.editor, [{ ...run, session_id: project_id }]);
    const { id } = await scheduled(project_id, { late_rows: true });
    await spawnWindows(env, due(3));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    for (const n of [1, 2, 3]) expect(await filesOf(id, n)).toEqual({});
    expect((await patch(ours.editor, run.id, { start_time: noon(4) })).status).toBe(202);
    const before = Date.parse(noon(-1)) * 1000;
    const sql = "UPDATE partitions SET min_start_us = ?, max_start_us = ?";
    await env.DB.prepare(`${sql} WHERE project_id = ? AND day = ?`)
      .bind(before, before, project_id, noon(-1).slice(0, 10))
      .run();
    await spawnWindows(env, due(4));
    expect(await filesOf(id, 4)).toEqual({ [lateFile(4)]: 1 });
    await spawnWindows(env, due(5));
    expect(await filesOf(id, 5)).toEqual({});
  });

  test("within a partition that two windows share are in one of them", async () => {
    const hour = (n: number) => new Date(Date.parse(START) + n * 3_600_000).toISOString();
    const project_id = await given(ours, { from: hour(0), count: 3 });
    const { id } = await scheduled(project_id, { interval_hours: 1, late_rows: true });
    const at = (n: number) => new Date(Date.parse(hour(n + 1)) + 10 * MINUTE_MS);
    await spawnWindows(env, at(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    await given(ours, { from: hour(0), count: 2, project_id });
    await given(ours, { from: hour(1), count: 4, project_id });
    await spawnWindows(env, at(2));
    expect(await filesOf(id, 1)).toEqual({ [file(0)]: 4, [lateFile(0)]: 2 });
    expect(await filesOf(id, 2)).toEqual({});
  });

  test("are omitted unless the request includes them", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    const { id } = await scheduled(project_id);
    await spawnWindows(env, due(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    await given(ours, { from: noon(0), count: 2, project_id });
    await given(ours, { from: noon(1), count: 1, project_id });
    await spawnWindows(env, due(1));
    expect(await filesOf(id, 1)).toEqual({ [file(1)]: 1 });
    await spawnWindows(env, due(3));
    await filesOf(id, 2);
    await filesOf(id, 3);
    const sql = "SELECT watermarks FROM bulk_exports WHERE source_bulk_export_id = ?";
    const { results } = await env.DB.prepare(`${sql} ORDER BY window_index`).bind(id).all();
    const marks = results.map(({ watermarks }) => Object.keys(JSON.parse(String(watermarks))));
    // A window that needs none of the earlier ones does not repeat their marks.
    expect([marks[0]?.length, marks[3]]).toEqual([1, []]);
  });
});

describe("a window that was cancelled", () => {
  test("leaves to the next window its late rows, but not its own", async () => {
    const project_id = await given(ours, { from: noon(0), count: 3 });
    await given(ours, { from: noon(1), count: 2, project_id });
    await given(ours, { from: noon(2), count: 4, project_id });
    const { id } = await scheduled(project_id);
    await spawnWindows(env, due(0));
    expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
    await cancel(ours, id);
    const fields = { source_bulk_export_id: id, status: "CANCELLED" } as const;
    const finished_at = new Date().toISOString();
    await ordered(ours, project_id, {
      start_time: day(1).toISOString(),
      end_time: day(2).toISOString(),
      window_index: 1,
      finished_at,
      ...fields,
    });
    const third = await ordered(ours, project_id, {
      start_time: day(2).toISOString(),
      end_time: day(3).toISOString(),
      window_index: 2,
      source_bulk_export_id: id,
    });
    expect(third.status).toBe("CREATED");
    await given(ours, { from: noon(0), count: 6, project_id });
    expect(await filesOf(id, 2)).toEqual({ [file(2)]: 4, [lateFile(0)]: 6 });
    expect(await windowAt(id, 1)).toMatchObject({
      status: "CANCELLED",
      planned_at: expect.anything(),
    });
    await given(ours, { from: noon(1), count: 1, project_id });
    await ordered(ours, project_id, {
      start_time: day(3).toISOString(),
      end_time: day(4).toISOString(),
      window_index: 3,
      source_bulk_export_id: id,
    });
    expect(await filesOf(id, 3)).toEqual({ [lateFile(1)]: 1 });
  });
});

test("late rows of a window that is cancelled after its successor was planned are in the next one, once", async () => {
  const project_id = await given(ours, { from: noon(0), count: 3 });
  const { id } = await scheduled(project_id, { late_rows: true });
  await spawnWindows(env, due(0));
  await filesOf(id, 0);
  await given(ours, { from: noon(0), count: 2, project_id });
  await given(ours, { from: noon(1), count: 5, project_id });
  await spawnWindows(env, due(4));
  const second = await windowAt(id, 1);
  await planExport(env, await windowAt(id, 2));
  expect(await cancel(ours, second.id)).toMatchObject({ body: { status: "CANCELLED" } });
  expect(await filesOf(id, 2)).toEqual({});
  expect(await filesOf(id, 3)).toEqual({ [lateFile(0)]: 2 });
  expect(await filesOf(id, 4)).toEqual({});
});

test("late rows of a file that failed are in the window after a cancelled one", async () => {
  const project_id = await given(ours, { from: noon(0), count: 3 });
  const { id } = await scheduled(project_id, { late_rows: true });
  await spawnWindows(env, due(0));
  await filesOf(id, 0);
  await given(ours, { from: noon(0), count: 2, project_id });
  await spawnWindows(env, due(2));
  const second = await windowAt(id, 1);
  await planExport(env, second);
  const isOfSecond = eq(bulk_export_files.bulk_export_id, second.id);
  await db.update(bulk_export_files).set({ status: "FAILED" }).where(isOfSecond);
  expect(await cancel(ours, second.id)).toMatchObject({ body: { status: "CANCELLED" } });
  expect(await filesOf(id, 2)).toEqual({ [lateFile(0)]: 2 });
});

test("a second plan of a cancelled window changes nothing", async () => {
  const project_id = await given(ours, { from: noon(0), count: 3 });
  const { id } = await scheduled(project_id, { late_rows: true });
  await spawnWindows(env, due(0));
  await filesOf(id, 0);
  await spawnWindows(env, due(2));
  await cancel(ours, (await windowAt(id, 1)).id);
  const second = await windowAt(id, 1);
  await planExport(env, second);
  const { watermarks } = await windowAt(id, 1);
  await given(ours, { from: noon(0), count: 2, project_id });
  await planExport(env, second);
  expect((await windowAt(id, 1)).watermarks).toEqual(watermarks);
  const files = await db.$count(bulk_export_files, eq(bulk_export_files.bulk_export_id, second.id));
  expect(files).toBe(0);
  expect(await filesOf(id, 2)).toEqual({ [lateFile(0)]: 2 });
});

test("a window that failed before its plan has all its rows after a retry", async () => {
  const project_id = await given(ours, { from: noon(0), count: 3 });
  await given(ours, { from: noon(1), count: 2, project_id });
  const { id } = await scheduled(project_id);
  await cancel(ours, id);
  const window = (n: number, fields: Partial<ExportRow> = {}) =>
    ordered(ours, project_id, {
      start_time: day(n).toISOString(),
      end_time: day(n + 1).toISOString(),
      source_bulk_export_id: id,
      window_index: n,
      ...fields,
    });
  const failed = await window(0, { status: "FAILED", finished_at: new Date().toISOString() });
  await window(1);
  expect(await filesOf(id, 1)).toEqual({ [file(1)]: 2 });
  expect((await call(ours, `/${failed.id}/retry`, "POST")).status).toBe(200);
  expect(await filesOf(id, 0)).toEqual({ [file(0)]: 3 });
});

describe("a schedule", () => {
  test("whose project is deleted ends with an error", async () => {
    const project = await given(ours, { from: noon(0), count: 1 });
    const { id } = await scheduled(project);
    await api(`/sessions/${project}`, { key: ours.admin, method: "DELETE" });
    await spawnWindows(env, due(0));
    const { body } = await call<BulkExport>(ours, `/${id}`, "GET");
    expect(body).toMatchObject({
      status: "FAILED",
      error: `Project ID ${project} not found.`,
      finished_at: expect.any(String),
    });
    expect(await windowsOf(id)).toEqual([]);
    expect(await call(ours, `/${id}/retry`, "POST")).toMatchObject({ status: 409 });
  });

  test("waits while its organization has no paid plan, and is cancelled there", async () => {
    const project = await given(ours, { from: noon(0), count: 1 });
    const [waiting, { id }] = [await scheduled(project), await scheduled(project)];
    const owner = db
      .select({ id: workspaces.organization_id })
      .from(workspaces)
      .where(eq(workspaces.id, ours.workspace_id));
    const setPlan = (plan: "developer" | "plus") =>
      db.update(organizations).set({ plan }).where(inArray(organizations.id, owner));
    await setPlan("developer");
    await spawnWindows(env, due(1));
    expect([...(await windowsOf(id)), ...(await windowsOf(waiting.id))]).toEqual([]);
    expect((await cancel(ours, id)).status).toBe(200);
    await setPlan("plus");
    await spawnWindows(env, due(1));
    expect(await windowsOf(waiting.id)).toHaveLength(2);
    expect(await windowsOf(id)).toEqual([]);
  });

  test("is not starved by schedules without quota", async () => {
    const poor = await workspace({ plan: "developer" });
    const project = await given(ours, { from: noon(0), count: 1 });
    const { id } = await scheduled(project);
    const row = await readRow(id);
    const longAgo = new Date(0).toISOString();
    const others = Array.from({ length: 120 }, () => ({
      ...row,
      id: newId(),
      workspace_id: poor.workspace_id,
      created_at: longAgo,
      sent_at: longAgo,
      next_window_at: longAgo,
    }));
    for (const other of others) await db.insert(bulk_exports).values(other);
    await spawnWindows(env, due(0));
    await spawnWindows(env, due(0));
    await db.delete(bulk_exports).where(eq(bulk_exports.workspace_id, poor.workspace_id));
    expect((await windowsOf(id)).length).toBe(1);
  });
});

describe("of a workspace", () => {
  async function insert(count: number, fields: Partial<ExportRow>) {
    const project = await given(ours, { from: noon(0), count: 1 });
    const order = { start_time: START, end_time: noon(0), finished_at: START, cleaned_at: START };
    const row = await ordered(ours, project, { ...order, status: "COMPLETED", ...fields });
    for (let n = 1; n < count; n++) await db.insert(bulk_exports).values({ ...row, id: newId() });
    return project;
  }

  const create = (session_id: string, fields: Record<string, unknown> = {}) =>
    call<{ detail: string }>(ours, "", "POST", {
      bulk_export_destination_id: ours.destination_id,
      session_id,
      start_time: START,
      ...fields,
    });

  test("250 exports an hour are created, and the next when the first is an hour old", async () => {
    const created_at = new Date().toISOString();
    const project = await insert(MAX_CREATES_PER_HOUR, { created_at });
    const refused = await create(project, { end_time: noon(0) });
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: expect.stringMatching(/^The limit of 250 exports per hour is reached/) },
    });
    const [oldest] = await db
      .select()
      .from(bulk_exports)
      .where(eq(bulk_exports.workspace_id, ours.workspace_id))
      .limit(1);
    await db
      .update(bulk_exports)
      .set({ created_at: new Date(Date.now() - 3_600_000).toISOString() })
      .where(eq(bulk_exports.id, oldest?.id ?? ""));
    expect(await create(project, { end_time: noon(0) })).toMatchObject({ status: 200 });
  });

  test("schedules that catch up leave quota to people, and continue within the hour", async () => {
    const now = due(40);
    const project = await insert(190, { created_at: now.toISOString() });
    const row = await ordered(ours, project, {
      start_time: START,
      end_time: START,
      end_us: null,
      interval_hours: 24,
      status: "INTERVAL_SCHEDULED",
      next_window_index: 0,
      next_window_at: due(0).toISOString(),
      created_at: START,
    });
    await spawnWindows(env, now);
    await spawnWindows(env, now);
    expect((await windowsOf(row.id)).length).toBe(10);
    await spawnWindows(env, new Date(now.getTime() + 3_600_001));
    expect((await windowsOf(row.id)).length).toBe(34);
  });

  test("200 schedules are active at most", async () => {
    const project = await insert(MAX_SCHEDULES, {
      status: "INTERVAL_SCHEDULED",
      end_us: null,
      interval_hours: 24,
      next_window_index: 0,
      next_window_at: "2100-01-01T00:00:00.000Z",
      created_at: START,
    });
    expect(await create(project, { interval_hours: 24 })).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/^The limit of 200 active schedules is reached/) },
    });
    expect(await create(project, { end_time: noon(0) })).toMatchObject({ status: 200 });
  });
});
