import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { isBeingExported } from "../../src/exports/rows.ts";
import { chunks } from "../../src/shared/work/chunks.ts";
import { consumeTraceExpiry } from "../../src/traces/deletion/expiry.ts";
import { consumeProjectDeletion } from "../../src/traces/deletion/project-deletion.ts";
import { slotOf } from "../../src/traces/locations/generations.ts";
import { forgetSlots } from "../../src/traces/object/slots.ts";
import { api } from "../support/workspace.ts";
import {
  DAY_MS,
  dayAt,
  daysAgo,
  expire,
  isStored,
  LATER_MS,
  rate,
  rows,
  type Scene,
  scene,
  send,
  step,
  stored,
} from "./support/expiry.ts";
import { locationsOf } from "./support/locations.ts";
import { batch, catalogue, multipart, type WireRun, wireRun } from "./support/runs.ts";
import { placesOf } from "./support/storage-scan.ts";

/** Sends traces that have the text wherever a client can put one. */
async function sendMarked(scene: Scene, text: string, days: number): Promise<WireRun> {
  const { name, ours } = scene;
  const at = daysAgo(days);
  const fields = {
    ...{ name: text, error: text, tags: [text], serialized: { text }, events: [{ name: text }] },
    ...{ inputs: { text }, extra: { metadata: { [text]: text, thread_id: text } } },
  };
  const root = wireRun(name, { ...fields, outputs: { big: text.repeat(20_000) } }, { at });
  const child = wireRun(name, { ...fields, id: crypto.randomUUID() }, { at: at + 1, parent: root });
  await send(scene, root, child);
  await batch(ours.editor, [], [{ id: child.id, session_name: name, outputs: { text } }]);
  const attachment = { name: `attachment.${root.id}.${text}`, type: "text/plain", data: text };
  const body = await multipart([attachment]);
  const headers = { "Content-Type": "multipart/form-data; boundary=----boundary" };
  const request = {
    key: ours.editor,
    method: "POST",
    headers,
    body: new TextDecoder().decode(body),
  };
  expect((await api("/runs/multipart", request)).status).toBe(202);
  await rate(scene, child, { key: text, comment: text, extend_trace_retention: false });
  expect((await api(`/runs/${root.id}/share`, { key: ours.admin, method: "PUT" })).status).toBe(
    200,
  );
  for (const { id } of [root, child]) {
    const token = { key: ours.editor, json: { run_id: id, feedback_key: text } };
    expect((await api("/feedback/tokens", token)).status).toBe(200);
  }
  return root;
}

const upTo = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => n + 1));

const PLACES = ["bucket", "database feedback_tokens", "object feedback", "object run"];
const marker = () => `marker${crypto.randomUUID().replaceAll("-", "")}`;

describe("expiry", () => {
  test("leaves no byte of a short-lived day, and none of another workspace goes", async () => {
    const [ours, theirs] = [await scene(), await scene("longlived")];
    const [gone, kept] = [marker(), marker()];
    await sendMarked(ours, gone, 16);
    const other = await sendMarked(theirs, kept, 16);
    expect(await placesOf(gone)).toEqual(expect.arrayContaining(PLACES));
    await expire(theirs);
    await expire(ours);
    expect(await placesOf(gone)).toEqual([]);
    for (const table of ["partitions", "trace_shares"]) {
      expect([table, await rows(table, ours)]).toEqual([table, 0]);
    }
    expect(await locationsOf(ours.ours.workspace_id)).toEqual([]);
    expect(await placesOf(kept)).toEqual(expect.arrayContaining(PLACES));
    expect([await isStored(theirs, other), await rows("trace_shares", theirs)]).toEqual([true, 1]);
  });

  test("deletes a day of the long retention whole, whatever its tiers and feedback", async () => {
    const one = await scene("longlived");
    const text = marker();
    const root = await sendMarked(one, text, 402);
    const recent = wireRun(one.name, {}, { at: daysAgo(399) });
    await send(one, recent);
    await rate(one, root);
    await expire(one);
    expect(await placesOf(text)).toEqual([]);
    expect([await isStored(one, recent), await rows("partitions", one)]).toEqual([true, 1]);
  });

  test("keeps long-lived traces of a mixed day: by a run's tier, by feedback, before or after the run", async () => {
    const one = await scene();
    const at = daysAgo(20);
    const trace = (fields = {}) => {
      const root = wireRun(one.name, {}, { at });
      return [root, wireRun(one.name, fields, { at: at + 1, parent: root })] as const;
    };
    const [plain, tier, rated, early, unextended] = [
      ...[trace({ inputs: { big: "x".repeat(300_000) } }), trace({ trace_tier: "longlived" })],
      ...[trace(), trace(), trace()],
    ] as [readonly [WireRun, WireRun], ...(readonly [WireRun, WireRun])[]];
    const all = [plain, tier, rated, early, unextended].flatMap((pair) => pair ?? []);
    await rate(one, all[7] as WireRun, { session_id: one.project_id });
    await send(one, ...all);
    await rate(one, all[5] as WireRun);
    await rate(one, all[9] as WireRun, { extend_trace_retention: false });
    const query = { session: [one.project_id], filter: 'eq(trace_tier, "longlived")' };
    const found = await api("/runs/query", { key: one.ours.viewer, json: query });
    const ids = (await found.json<{ runs: WireRun[] }>()).runs.map(({ id }) => id);
    const kept = all.slice(2, 8).map((run) => run.id);
    expect(ids.sort()).toEqual(kept.sort());

    await expire(one);
    const [no, yes] = [
      [false, false],
      [true, true],
    ];
    expect(await stored(one, ...all)).toEqual([no, yes, yes, yes, no].flat());
    expect((await env.ARTIFACTS.list({ prefix: `runs/${one.project_id}/` })).objects).toEqual([]);
    const stats = await api("/runs/stats", {
      key: one.ours.viewer,
      json: { session: [one.project_id] },
    });
    expect(await stats.json()).toMatchObject({ run_count: 6 });
    const [row] = (await catalogue(one.project_id)).results;
    expect(row).toMatchObject({ rows: 6, expired_seq: row?.seq, closed_at: null });
  });

  test("the runs of a trace with feedback have its tier, however large they are and whenever they arrive", async () => {
    const one = await scene();
    const at = daysAgo(1);
    const root = wireRun(one.name, {}, { at });
    const below = (n: number) =>
      wireRun(one.name, { inputs: { text: "x".repeat(400_000) } }, { at: at + n, parent: root });
    const runs = Array.from({ length: 16 }, (_, n) => below(n + 1));
    const other = wireRun(one.name, {}, { at });
    await send(one, root, other);
    for (const some of chunks(runs.slice(0, 15), 5)) await send(one, ...some);
    await rate(one, runs[3] as WireRun);
    await send(one, runs[15] as WireRun);
    const query = { session: [one.project_id], select: ["trace_tier"], limit: 100 };
    const found = await api("/runs/query", { key: one.ours.viewer, json: query });
    const body = await found.json<{ runs: WireRun[] }>();
    const tiers = new Map(body.runs.map((run) => [run.id, run.trace_tier]));
    expect(tiers.size).toBe(18);
    for (const { id } of [root, ...runs]) expect(tiers.get(id)).toBe("longlived");
    expect(tiers.get(other.id)).toBe("shortlived");
  });

  test.each([
    ["the root", 0, 5],
    ["a run of the next day", 1, 5],
    ["the root, with a run of the day before", 0, -5],
    ["a run of the day before", 1, -5],
  ])("keeps both days of a trace with feedback on %s", async (_, which, later) => {
    const one = await scene();
    const midnight = daysAgo(20) + DAY_MS / 2;
    const root = wireRun(one.name, {}, { at: midnight - later });
    const child = wireRun(one.name, {}, { at: midnight + later, parent: root });
    const alone = wireRun(one.name, {}, { at: midnight - later });
    const after = wireRun(one.name, {}, { at: midnight + later, parent: alone });
    await send(one, root, child, alone, after);
    await rate(one, which === 0 ? root : child);
    await expire(one);
    expect(await stored(one, root, child, alone, after)).toEqual([true, true, false, false]);
  });

  test.each([0, 1, 2])("keeps three days of a trace with a long-lived run on day %i", async (n) => {
    const one = await scene();
    const at = daysAgo(20);
    const tier = (day: number) => (day === n ? { trace_tier: "longlived" } : {});
    const root = wireRun(one.name, tier(1), { at });
    const before = wireRun(one.name, tier(0), { at: at - DAY_MS, parent: root });
    const after = wireRun(one.name, tier(2), { at: at + DAY_MS, parent: root });
    await send(one, root, before, after);
    await expire(one);
    expect(await stored(one, root, before, after)).toEqual([true, true, true]);
  });

  test.each([
    ["the root", 0, -1],
    ["the root", 0, 1],
    ["a run of the day before", 1, -1],
    ["a run of the next day", 1, 1],
  ])("keeps a trace by the tier of %s, of which the parents are not known", async (_, n, days) => {
    const one = await scene();
    const at = daysAgo(20);
    const tier = (which: number) => (which === n ? { trace_tier: "longlived" } : {});
    const root = wireRun(one.name, tier(0), { at });
    const fields = { ...tier(1), parent_run_id: crypto.randomUUID(), dotted_order: undefined };
    const child = wireRun(one.name, fields, { at: at + days * DAY_MS, parent: root });
    const alone = wireRun(
      one.name,
      { ...fields, trace_tier: undefined, trace_id: crypto.randomUUID() },
      { at: at - DAY_MS },
    );
    await send(one, root, child, alone);
    await expire(one);
    expect(await stored(one, root, child, alone)).toEqual([true, true, false]);
  });

  test("reads and keeps a trace once, however many of its runs lack the runs above them", async () => {
    const one = await scene();
    const at = daysAgo(20);
    const [trace_id, other_id] = [crypto.randomUUID(), crypto.randomUUID()];
    const unplaced = (ms: number, fields: object) => {
      const above = { parent_run_id: crypto.randomUUID(), dotted_order: undefined };
      return wireRun(one.name, { ...above, ...fields }, { at: ms });
    };
    const [next, long] = [at + DAY_MS, { trace_tier: "longlived" }];
    await send(
      one,
      ...[1, 2, 3].map((ms) => unplaced(at + ms, { trace_id })),
      ...[trace_id, other_id].map((id) => unplaced(next, { trace_id: id, ...long })),
    );
    const partition = { project_id: one.project_id, day: dayAt(at), slot: 0 };
    const object = env.PARTITIONS.getByName(`${one.project_id}/${dayAt(at)}/0`);
    const far = [{ root_day: null, trace_id }];
    expect(await object.listExpiring("shortlived")).toMatchObject({ trace_ids: [trace_id], far });
    const kept: string[][] = [];
    const expireTraces: typeof object.expireTraces = (key, request) => {
      kept.push(request.keep);
      return object.expireTraces(key, request);
    };
    const listExpiring = () => object.listExpiring("shortlived");
    const getByName = (name: string) =>
      name.includes(dayAt(at)) ? { listExpiring, expireTraces } : env.PARTITIONS.getByName(name);
    const on = { ...env, PARTITIONS: { getByName } } as unknown as Env;
    await consumeTraceExpiry(on, partition, isBeingExported);
    expect(kept).toEqual([[trace_id]]);
  });

  test("keeps a trace of two days beside one whose root is behind hundreds of partitions", async () => {
    const one = await scene();
    const at = daysAgo(20);
    const root = wireRun(one.name, {}, { at });
    const child = wireRun(one.name, { trace_tier: "longlived" }, { at: at + DAY_MS, parent: root });
    const past = wireRun(one.name, {}, { at: at - 420 * DAY_MS });
    const far = wireRun(one.name, {}, { at, parent: past });
    const long = wireRun(one.name, { trace_tier: "longlived" }, { at: at - 12 * DAY_MS });
    const below = wireRun(one.name, {}, { at, parent: long });
    await send(one, root, child, far, long, below);
    await env.DB.prepare(
      `INSERT INTO partitions (project_id, day, slot, workspace_id, rows, bytes, seq, roots, updated_at)
       SELECT ?, date(?, '-' || (value % 11 + 1) || ' days'), value, ?, 0, 0, 0, 0, ''
       FROM json_each(?)`,
    )
      .bind(one.project_id, dayAt(at), one.ours.workspace_id, upTo(410))
      .run();
    const partition = { project_id: one.project_id, day: dayAt(at), slot: 0 };
    await consumeTraceExpiry(env, partition, isBeingExported);
    expect(await stored(one, root, child, far, below)).toEqual([true, true, false, true]);
  });

  test("keeps a trace with a long-lived run in another slot of its day", async () => {
    const one = await scene();
    const at = daysAgo(20);
    const root = wireRun(one.name, {}, { at });
    await send(one, root, wireRun(one.name, {}, { at }));
    await env.DB.prepare("UPDATE partitions SET closed_at = ? WHERE project_id = ?")
      .bind(new Date().toISOString(), one.project_id)
      .run();
    forgetSlots({ project_id: one.project_id, day: dayAt(at) });
    const child = wireRun(one.name, { trace_tier: "longlived" }, { at: at + 1, parent: root });
    await send(one, child);
    expect((await catalogue(one.project_id)).results.map(({ slot }) => slot)).toEqual([
      0,
      slotOf(root.id, 1),
    ]);
    await expire(one);
    expect(await stored(one, root, child)).toEqual([true, true]);
    expect((await catalogue(one.project_id)).results).toMatchObject([{ rows: 1 }, { rows: 1 }]);
  });

  test("touches nothing that is younger, and repeats without harm", async () => {
    const one = await scene();
    // The test may run over midnight.
    const now = new Date();
    const young = wireRun(one.name, {}, { at: daysAgo(14) });
    const old = wireRun(one.name, {}, { at: daysAgo(15) });
    await send(one, young, old);
    for (let n = 0; n < 3; n++) await expire(one, now);
    expect(await stored(one, young, old)).toEqual([true, false]);
    forgetSlots({ project_id: one.project_id, day: dayAt(daysAgo(15)) });
    const late = wireRun(one.name, {}, { at: daysAgo(15) });
    await send(one, late);
    expect(await isStored(one, late)).toBe(true);
    await expire(one, now);
    expect([await isStored(one, late), await rows("partitions", one)]).toEqual([false, 1]);
  });

  test("expires a run that arrives after its day, and reopens a day that gets a long-lived one", async () => {
    const one = await scene();
    const at = daysAgo(20);
    const kept = wireRun(one.name, { trace_tier: "longlived" }, { at });
    await send(one, kept, wireRun(one.name, {}, { at }));
    await expire(one);
    const late = wireRun(one.name, {}, { at: at + 5 });
    await send(one, late);
    await step(one);
    await step(one);
    expect(await stored(one, kept, late)).toEqual([true, false]);

    const two = await scene();
    await send(two, wireRun(two.name, {}, { at }));
    await step(two);
    const long = wireRun(two.name, { trace_tier: "longlived" }, { at });
    await send(two, long);
    await step(two, new Date(Date.now() + LATER_MS));
    await step(two, new Date(Date.now() + 2 * LATER_MS));
    expect(await isStored(two, long)).toBe(true);
    expect((await catalogue(two.project_id)).results).toMatchObject([{ rows: 1, closed_at: null }]);
  });
});

describe("deletion leaves no byte", () => {
  test("of a trace", async () => {
    const one = await scene("longlived");
    const text = marker();
    const root = await sendMarked(one, text, 3);
    const json = { session_id: one.project_id, trace_ids: [root.id] };
    expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
    for (const { day } of (await catalogue(one.project_id)).results) {
      await runDurableObjectAlarm(env.PARTITIONS.getByName(`${one.project_id}/${day}/0`));
    }
    expect(await placesOf(text)).toEqual([]);
    expect(await locationsOf(one.ours.workspace_id)).toEqual([]);
  });

  test("of a project", async () => {
    const one = await scene("longlived");
    const text = marker();
    await sendMarked(one, text, 3);
    expect((await locationsOf(one.ours.workspace_id)).length).toBe(2);
    const path = `/sessions/${one.project_id}`;
    const call = { key: one.ours.admin, method: "PATCH", json: { description: text } };
    expect((await api(path, call)).status).toBe(200);
    expect(await placesOf(text)).toEqual(expect.arrayContaining([...PLACES, "database projects"]));
    expect((await api(path, { key: one.ours.admin, method: "DELETE" })).status).toBe(202);
    await env.DB.prepare("UPDATE projects SET deleted_at = '2026-01-01' WHERE id = ?")
      .bind(one.project_id)
      .run();
    await consumeProjectDeletion(env, { project_id: one.project_id });
    expect(await placesOf(text)).toEqual([]);
    expect(await locationsOf(one.ours.workspace_id)).toEqual([]);
  });
});
