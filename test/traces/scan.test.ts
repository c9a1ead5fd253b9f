import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { unpackCells } from "../../src/exports/parquet/cells.ts";
import type { Context } from "../../src/shared/context.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { slotOf } from "../../src/traces/locations/generations.ts";
import type { TracePartition } from "../../src/traces/object/object.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { EVERY_RUN } from "../../src/traces/rows/run-source.ts";
import {
  planScan,
  type ScanChunk,
  type ScanColumn,
  type ScanPart,
  type ScanRequest,
  scanChunk,
} from "../../src/traces/scan/scan-service.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { systemContext } from "../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, patch, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

const MIDNIGHT = Date.parse("2026-05-05T00:00:00Z");
const NOON = MIDNIGHT + 43_200_000;
const DAY = 86_400_000;
const MEGABYTE = 1_000_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
let ctx: Context;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  ctx = systemContext(ours.workspace_id, "viewer");
});

/** Creates a project with these runs. */
async function given(runs: (name: string) => WireRun[]): Promise<string> {
  const name = crypto.randomUUID();
  const response = await batch(ours.editor, runs(name));
  expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
  return (await projectId(ours.viewer, name)) ?? "";
}

async function add(project_id: string, runs: WireRun[]): Promise<void> {
  const sent = runs.map(({ session_name: _, ...run }) => ({ ...run, session_id: project_id }));
  expect((await batch(ours.editor, sent)).status).toBe(202);
}

function plan(project_id: string, request: Partial<ScanRequest> = {}) {
  return planScan(ctx, {
    project_id,
    from_us: (MIDNIGHT - DAY) * 1000,
    to_us: (MIDNIGHT + 2 * DAY) * 1000,
    filter: null,
    min_seqs: null,
    max_rows: 1000,
    max_bytes: 100 * MEGABYTE,
    ...request,
  });
}

type Scanned = { pages: number[]; columns: Record<string, (string | number | null)[]> };

async function scan(
  chunks: ScanChunk[],
  columns: ScanColumn[] = ["name"],
  { max_bytes = 10 * MEGABYTE, filter = null as string | null } = {},
): Promise<Scanned> {
  const all: Scanned = { pages: [], columns: {} };
  for (const chunk of chunks) {
    let after: ScanChunk["after"] = null;
    do {
      const page = await scanChunk(ctx, chunk, { columns, filter, after, max_bytes });
      all.pages.push(page.parts.reduce((sum, { rows }) => sum + rows, 0));
      for (const column of columns) {
        const values = page.parts.flatMap((part) => cellsOf(part, column));
        all.columns[column] = [...(all.columns[column] ?? []), ...values];
      }
      after = page.next;
    } while (after !== null);
  }
  return all;
}

function cellsOf({ rows, columns }: ScanPart, column: ScanColumn) {
  const cells = columns[column] ?? [];
  const values = unpackCells(cells);
  expect(values).toHaveLength(rows);
  return values;
}

async function names(chunks: ScanChunk[], options?: Parameters<typeof scan>[2]) {
  return (await scan(chunks, ["name"], options)).columns.name ?? [];
}

const several = (count: number, fields: (i: number) => Record<string, unknown> = () => ({})) =>
  given((name) =>
    Array.from({ length: count }, (_, i) =>
      wireRun(name, { name: `run ${i}`, ...fields(i) }, { at: NOON + i }),
    ),
  );

describe("a plan", () => {
  test("includes the start of its range and excludes its end, to the microsecond", async () => {
    const project = await several(3);
    const at = (i: number) => (NOON + i) * 1000 + 1;
    const between = async (from_us: number, to_us: number) =>
      names((await plan(project, { from_us, to_us })).chunks);
    expect(await between(at(0), at(2))).toEqual(["run 0", "run 1"]);
    expect(await between(at(0) + 1, at(2) + 1)).toEqual(["run 1", "run 2"]);
    expect(await between(at(1), at(1))).toEqual([]);
  });

  test("has chunks in order, the last with the remaining rows", async () => {
    const { chunks } = await plan(await several(7), { max_rows: 3 });
    expect(chunks.map(({ rows }) => rows)).toEqual([3, 3, 1]);
    expect(await names(chunks)).toEqual([0, 1, 2, 3, 4, 5, 6].map((i) => `run ${i}`));
    expect((await scan(chunks)).pages).toEqual([3, 3, 1]);
  });

  test("has no empty chunk when rows fill the last one", async () => {
    const { chunks } = await plan(await several(6), { max_rows: 3 });
    expect(chunks.map(({ rows }) => rows)).toEqual([3, 3]);
  });

  test("never has a chunk across midnight, and keeps runs of the same microsecond apart", async () => {
    const project = await given((name) => [
      ...["a", "b", "c"].map((one) => wireRun(name, { name: one }, { at: MIDNIGHT - 1 })),
      wireRun(name, { name: "new" }, { at: MIDNIGHT }),
    ]);
    const { chunks, watermarks } = await plan(project, { max_rows: 2 });
    expect(chunks.map(({ rows, partition }) => [partition.day, rows])).toEqual([
      ["2026-05-04", 2],
      ["2026-05-04", 1],
      ["2026-05-05", 1],
    ]);
    const found = await names(chunks);
    expect([...found.slice(0, 3)].sort()).toEqual(["a", "b", "c"]);
    expect(found.at(3)).toBe("new");
    expect(Object.keys(watermarks)).toEqual(["2026-05-04/0", "2026-05-05/0"]);
  });

  test("finds a run whose start was moved to another day", async () => {
    const run = wireRun("moved", { name: "moved" }, { at: NOON });
    await batch(ours.editor, [run, wireRun("moved", { name: "stays" }, { at: NOON + 1 })]);
    const start_time = new Date(MIDNIGHT - 1000).toISOString();
    expect((await patch(ours.editor, run.id, { start_time })).status).toBe(202);
    const project = (await projectId(ours.viewer, "moved")) ?? "";
    const { chunks } = await plan(project, { to_us: MIDNIGHT * 1000 });
    expect(chunks.map(({ partition }) => partition.day)).toEqual(["2026-05-05"]);
    expect(await names(chunks)).toEqual(["moved"]);
    const both = (await plan(project)).chunks;
    expect(both.map(({ rows, from_us }) => [rows, from_us])).toEqual([
      [1, (MIDNIGHT - DAY) * 1000],
      [1, MIDNIGHT * 1000],
    ]);
  });

  test("covers the rows at its start; later rows are in later plans", async () => {
    const project = await several(4);
    const first = await plan(project, { max_rows: 3 });
    const late = wireRun("", { name: "late" }, { at: NOON + 1 });
    await add(project, [late]);
    expect(await names(first.chunks)).toEqual(["run 0", "run 1", "run 2", "run 3"]);
    expect(await names((await plan(project)).chunks)).toHaveLength(5);
    // Plans skip partitions by the catalogue, which the alarm updates.
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${project}/2026-05-05/0`));
    const rest = await plan(project, { min_seqs: first.watermarks });
    expect(rest.chunks.map(({ rows }) => rows)).toEqual([1]);
    expect(await names(rest.chunks)).toEqual(["late"]);
    expect((await plan(project, { min_seqs: rest.watermarks })).chunks).toEqual([]);
  });

  test("has a run that a later patch moves into its range, once", async () => {
    const range = { from_us: MIDNIGHT * 1000, to_us: (MIDNIGHT + DAY) * 1000 };
    const move = async (id: string, at: number) => {
      const start_time = new Date(at).toISOString();
      expect((await patch(ours.editor, id, { start_time })).status).toBe(202);
    };
    const [inside, moved, back] = [NOON, NOON + DAY, NOON + DAY].map((at, n) =>
      wireRun("moves", { name: `run ${n}` }, { at }),
    ) as [WireRun, WireRun, WireRun];
    await batch(ours.editor, [inside, moved, back]);
    const project = (await projectId(ours.viewer, "moves")) ?? "";
    const first = await plan(project, range);
    await move(inside.id, NOON + 1000);
    await move(moved.id, NOON - 1000);
    await move(moved.id, NOON - 2000);
    await move(back.id, NOON);
    await move(back.id, NOON + DAY);
    expect(await names(first.chunks)).toEqual(["run 0"]);
    const late = await plan(project, { ...range, min_seqs: first.watermarks });
    expect(await names(late.chunks)).toEqual(["run 1"]);
    await move(moved.id, NOON - 3000);
    const filtered = {
      ...range,
      min_seqs: late.watermarks,
      filter: 'gt(start_time, "2020-01-01")',
    };
    expect((await plan(project, filtered)).chunks).toEqual([]);
    expect((await names((await plan(project, range)).chunks)).sort()).toEqual(["run 0", "run 1"]);
  });

  test("has each run once, where it was at the plan, when patches move runs before they are read", async () => {
    const sent = Array.from({ length: 7 }, (_, i) =>
      wireRun("moved away", { name: `run ${i}` }, { at: NOON + i * 1000 }),
    );
    await batch(ours.editor, sent);
    const project = (await projectId(ours.viewer, "moved away")) ?? "";
    const range = { from_us: MIDNIGHT * 1000, to_us: (MIDNIGHT + DAY) * 1000 };
    const filter = `lt(start_time, "${new Date(NOON + 5500).toISOString()}")`;
    const { chunks, watermarks } = await plan(project, { ...range, max_rows: 2 });
    const filtered = await plan(project, { ...range, filter });
    const starts = (await scan(chunks, ["start_us"])).columns.start_us;
    const moves = [NOON + 5500, NOON + DAY, NOON - DAY, NOON, NOON + 3500, NOON + 7000];
    for (const [n, at] of moves.entries()) {
      const start_time = new Date(at).toISOString();
      expect((await patch(ours.editor, sent[n]?.id ?? "", { start_time })).status).toBe(202);
    }
    const expected = [0, 1, 2, 3, 4, 5, 6].map((i) => `run ${i}`);
    for (const max_bytes of [1, 10 * MEGABYTE]) {
      const read = await scan(chunks, ["name", "start_us"], { max_bytes });
      expect(read.columns).toEqual({ name: expected, start_us: starts });
    }
    expect(await names(filtered.chunks, { filter })).toEqual(expected.slice(0, 6));
    const again = await plan(project, { ...range, max_rows: 2, max_seqs: watermarks });
    expect(again.chunks).toEqual(chunks);
    // Plans of earlier releases.
    const older = chunks.map(({ scan_range: _, ...chunk }) => chunk);
    expect(await names(older)).toEqual(expected);
  });

  test("counts a patched run once", async () => {
    const run = wireRun("patched", { name: "old" }, { at: NOON });
    await batch(ours.editor, [run]);
    const project = (await projectId(ours.viewer, "patched")) ?? "";
    const { chunks, watermarks } = await plan(project);
    await patch(ours.editor, run.id, { name: "new" });
    expect(await names(chunks)).toEqual(["new"]);
    expect((await plan(project, { min_seqs: watermarks })).chunks).toEqual([]);
  });

  test("counts only what its filter matches, whether the index helps or not", async () => {
    const project = await several(10, (i) => ({
      tags: i % 2 === 0 ? ["even"] : [],
      error: i === 4 ? "broke" : null,
    }));
    const expected = [0, 2, 4, 6, 8].map((i) => `run ${i}`);
    const indexed = 'has(tags, "even")';
    for (const filter of [indexed, `or(${indexed}, eq(name, "none"))`]) {
      const { chunks } = await plan(project, { filter, max_rows: 2 });
      expect(chunks.map(({ rows }) => rows)).toEqual([2, 2, 1]);
      expect(await names(chunks, { filter })).toEqual(expected);
    }
    const filter = 'neq(status, "error")';
    const { chunks } = await plan(project, { filter, max_rows: 5 });
    expect(chunks.map(({ rows }) => rows)).toEqual([5, 4]);
    expect(await names(chunks, { filter, max_bytes: 1 })).toHaveLength(9);
    expect((await plan(project, { filter: 'has(tags, "odd")' })).chunks).toEqual([]);
    await expect(plan(project, { filter: "nonsense(" })).rejects.toThrow(/filter/);
  });

  test("covers every slot of a day", async () => {
    const project = await several(1);
    const day = "2026-05-06";
    const full = 7_000_000_000;
    await env.DB.prepare(
      `INSERT INTO partitions (project_id, day, slot, workspace_id, rows, bytes, seq, roots, updated_at)
       VALUES (?, ?, 0, ?, 0, ?, 0, 0, '')`,
    )
      .bind(project, day, ours.workspace_id, full)
      .run();
    const second = wireRun("", { name: "second" }, { at: NOON + DAY });
    await add(project, [second]);
    const { session_name: _, ...run } = wireRun("", { name: "first" }, { at: NOON + DAY + 1 });
    const partition = { project_id: project, day, slot: 0 };
    await tracePartition(env, partition).ingest(partition, [toIncoming(run, "post", [])], false);
    const { chunks, watermarks } = await plan(project);
    expect(Object.keys(watermarks)).toEqual([
      "2026-05-05/0",
      `${day}/0`,
      `${day}/${slotOf(second.id, 1)}`,
    ]);
    expect((await names(chunks)).sort()).toEqual(["first", "run 0", "second"]);
    const rest = await plan(project, { min_seqs: { [`${day}/0`]: watermarks[`${day}/0`] ?? 0 } });
    expect((await names(rest.chunks)).sort()).toEqual(["run 0", "second"]);
  });

  test("spans several responses when one cannot hold its chunks", async () => {
    const project = await several(5);
    const more = Array.from({ length: 1200 }, (_, i) => wireRun("", {}, { at: NOON + 10 + i }));
    await add(project, more.slice(0, 600));
    await add(project, more.slice(600));
    const { chunks } = await plan(project, { max_rows: 1 });
    expect(chunks.map(({ rows }) => rows)).toEqual(Array.from({ length: 1205 }, () => 1));
  });
});

describe("a page", () => {
  const COLUMNS: ScanColumn[] = ["id", "start_us", "inputs", "tags", "total_tokens", "error"];

  test("by page returns the same rows as in one", async () => {
    const project = await several(9, (i) => ({
      tags: ["t"],
      inputs: { text: "ü".repeat(i * 100) },
    }));
    const { chunks } = await plan(project, { max_rows: 5 });
    const whole = await scan(chunks, COLUMNS);
    expect(whole.pages).toEqual([5, 4]);
    for (const max_bytes of [1, 1000, 2500]) {
      const paged = await scan(chunks, COLUMNS, { max_bytes });
      expect(paged.columns).toEqual(whole.columns);
      expect(paged.pages.length).toBeGreaterThan(2);
    }
    expect(whole.columns.tags?.[0]).toBe('["t"]');
    expect(JSON.parse(String(whole.columns.inputs?.[2]))).toEqual({ text: "ü".repeat(200) });
  });

  test("returns as many rows as fit, one long row at a time", async () => {
    const project = await several(6, () => ({ inputs: { text: "x".repeat(850_000) } }));
    const { chunks } = await plan(project, { max_bytes: 3 * MEGABYTE });
    expect(chunks.map(({ rows }) => rows)).toEqual([3, 3]);
    expect(chunks[0]?.bytes).toBeGreaterThan(2.5 * MEGABYTE);
    expect((await scan(chunks, ["inputs"], { max_bytes: 2 * MEGABYTE })).pages).toEqual([
      2, 1, 2, 1,
    ]);
    expect((await scan(chunks, ["inputs"], { max_bytes: 1 })).pages).toEqual([1, 1, 1, 1, 1, 1]);
    expect((await scan(chunks, ["name"], { max_bytes: 2 * MEGABYTE })).pages).toEqual([3, 3]);
  });

  test("counts payloads in R2 like inline ones, and returns their text", async () => {
    const long = "y".repeat(2 * MEGABYTE);
    const project = await several(4, (i) => (i % 2 === 0 ? { outputs: { long } } : {}));
    const { chunks } = await plan(project);
    expect(chunks[0]?.bytes).toBeGreaterThan(3.9 * MEGABYTE);
    const scanned = await scan(chunks, ["name", "outputs"], { max_bytes: 3 * MEGABYTE });
    expect(scanned.pages).toEqual([2, 2]);
    const text = JSON.stringify({ long });
    expect(scanned.columns.outputs).toEqual([text, null, text, null]);
    expect((await scan(chunks, ["name"], { max_bytes: 3 * MEGABYTE })).pages).toEqual([4]);
  });

  test("returns texts unchanged: empty, missing, with NUL, wide or with a byte order mark", async () => {
    const names = ["", "a\u0000b", "\u0000", "", "\ufeffx", "é漢😀", "", "plain"];
    const errors = names.map((name) => (name === "" ? null : name));
    const project = await several(names.length, (i) => ({ name: names[i], error: errors[i] }));
    const { chunks } = await plan(project);
    const { columns } = await scan(chunks, ["name", "error", "parent_run_id"]);
    expect(columns).toEqual({ name: names, error: errors, parent_run_id: names.map(() => null) });
  });

  test("replaces half of a surrogate pair by one character", async () => {
    const fields = { name: "n\ud800", error: "\udfffe", inputs: { a: "\ud800" } };
    const project = await several(1, () => fields);
    const { chunks } = await plan(project);
    const { columns } = await scan(chunks, ["id", "name", "error", "inputs"]);
    expect(columns).toMatchObject({
      ...{ name: ["n\ufffd"], error: ["\ufffde"] },
      inputs: ['{"a":"\\ud800"}'],
    });
    const [id] = columns.id ?? [];
    expect((await patch(ours.editor, String(id), { error: "x\udc00" })).status).toBe(202);
    expect((await scan(chunks, ["error"])).columns.error).toEqual(["x\ufffd"]);
    expect(await read(ours.viewer, String(id))).toMatchObject({ error: "x\udc00" });
  });

  test("returns the same feedback as a read of the run", async () => {
    const runs = [wireRun("rated", {}, { at: NOON }), wireRun("rated", {}, { at: NOON + 1 })];
    await batch(ours.editor, runs);
    for (const [key, score] of [
      ["good", 1],
      ["good", 0],
      ["fast", 0.5],
    ] as const) {
      const json = { run_id: runs[0]?.id, key, score, ...(score === 1 ? { value: "yes" } : {}) };
      expect((await api("/feedback", { key: ours.editor, json })).status).toBe(200);
    }
    const project = (await projectId(ours.viewer, "rated")) ?? "";
    const scanned = await scan((await plan(project)).chunks, ["id", "feedback_stats"]);
    const [stats, none] = scanned.columns.feedback_stats ?? [];
    const { feedback_stats } = await read(ours.viewer, runs[0]?.id ?? "");
    expect(JSON.parse(String(stats))).toEqual(feedback_stats);
    expect(none).toBeNull();
  });
});

test("a run that is deleted between the reads of its row and its payload is left out", async () => {
  const big = "x".repeat(MEGABYTE);
  const runs = (name: string) => [
    wireRun(name, { name: "gone", outputs: { big } }, { at: NOON }),
    wireRun(name, { name: "kept", outputs: { big } }, { at: NOON + 1 }),
  ];
  const project_id = await given(runs);
  const { chunks } = await plan(project_id);
  const partition = { project_id, day: "2026-05-05", slot: 0 };
  const [gone] = await tracePartition(env, partition).findTraces([["user_id", "u1"]]);
  const ARTIFACTS = new Proxy(env.ARTIFACTS, {
    get: (bucket, name) =>
      name !== "get"
        ? Reflect.get(bucket, name)
        : async (key: string) => {
            if (!key.includes(`/${gone}/`)) return bucket.get(key);
            await tracePartition(env, partition).deleteTraces(partition, [gone ?? ""]);
            return null;
          },
  });
  const deleting = { ...ctx, env: { ...env, ARTIFACTS } as Env };
  const [chunk] = chunks;
  if (!chunk) throw new Error("There is no chunk");
  const request = { columns: ["name", "outputs"] as const, filter: null, after: null };
  const { parts } = await scanChunk(deleting, chunk, {
    ...{ ...request, columns: [...request.columns] },
    max_bytes: 10 * MEGABYTE,
  });
  const [part] = parts;
  if (!part) throw new Error("There is no part");
  expect(cellsOf(part, "name")).toEqual([expect.stringMatching(/^(gone|kept)$/)]);
  expect(cellsOf(part, "outputs")).toEqual([JSON.stringify({ big })]);
});

test("a page of runs with much feedback ends early, and the next ones have the rest", async () => {
  const project_id = await several(30);
  const stub = tracePartition(env, { project_id, day: "2026-05-05", slot: 0 });
  const feedback = 1200;
  await runInDurableObject(stub as DurableObjectStub<TracePartition>, (_, { storage }) => {
    for (const { id } of new PartitionStore(storage).runs.live({ ...EVERY_RUN, order: "asc" })) {
      storage.sql.exec(
        `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2)
         INSERT INTO feedback (id, run_id, key, value, body, created_at)
         SELECT ?1 || n, ?1, 'key ' || n, ?3, json_object('value', ?3), '' FROM n`,
        ...[id, feedback, "v".repeat(1000)],
      );
    }
  });
  const { chunks } = await plan(project_id);
  const { pages, columns } = await scan(chunks, ["name", "feedback_stats"]);
  expect(columns.name).toEqual(Array.from({ length: 30 }, (_, i) => `run ${i}`));
  expect(pages.length).toBeGreaterThan(1);
  expect(pages.length).toBeLessThan(10);
  const counts = columns.feedback_stats?.map(
    (stats) => Object.keys(JSON.parse(String(stats))).length,
  );
  expect(new Set(counts)).toEqual(new Set([feedback]));
});

test("a project without runs has no chunks, and other workspaces' and deleted ones are not found", async () => {
  const empty = await api("/sessions", { key: ours.editor, json: { name: crypto.randomUUID() } });
  const { id } = await empty.json<{ id: string }>();
  expect(await plan(id)).toEqual({ chunks: [], watermarks: {} });

  const project = await several(1);
  const request = { filter: null, after: null, columns: ["id"] as const, max_bytes: 1000 };
  const { chunks } = await plan(project);
  const [chunk] = chunks;
  if (chunk === undefined) throw new Error("The plan has no chunk.");
  const range = { project_id: project, from_us: 0, to_us: 1, filter: null, min_seqs: null };
  const limits = { max_rows: 1, max_bytes: 1 };
  const missing = { code: "not_found" };
  await expect(
    planScan(systemContext(theirs.workspace_id), { ...range, ...limits }),
  ).rejects.toMatchObject(missing);
  await expect(scanChunk(systemContext(theirs.workspace_id), chunk, request)).rejects.toMatchObject(
    missing,
  );
  expect((await api(`/sessions/${project}`, { key: ours.admin, method: "DELETE" })).status).toBe(
    202,
  );
  await expect(plan(project)).rejects.toMatchObject(missing);
  await expect(scanChunk(ctx, chunk, request)).rejects.toMatchObject(missing);
});
