import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { MAX_PARTITION_BYTES, MAX_PARTITION_ROWS } from "../../src/traces/limits.ts";
import {
  firstSlot,
  slotBefore,
  slotOf,
  slotsAfter,
} from "../../src/traces/locations/generations.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { countWork } from "../support/counted-work.ts";
import { systemContext } from "../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, catalogue, read, type WireRun, wireRun } from "./support/runs.ts";

const day = "2026-02-03";
const NOON = Date.parse(`${day}T12:00:00Z`);

/** Creates a project whose day has slots of these sizes. */
async function projectWith(
  ours: TestWorkspace,
  name: string,
  { slots, rows, bytes }: { slots: number; rows: number; bytes: number },
): Promise<string> {
  const made = await api("/sessions", { key: ours.editor, json: { name } });
  const { id } = await made.json<{ id: string }>();
  await env.DB.prepare(
    `INSERT INTO partitions (project_id, day, slot, workspace_id, rows, bytes, seq, roots, updated_at)
     SELECT ?, ?, value, ?, ?, ?, 1, 1, '' FROM json_each(?)`,
  )
    .bind(id, day, ours.workspace_id, rows, bytes, JSON.stringify([...Array(slots).keys()]))
    .run();
  return id;
}

const FULL = { rows: MAX_PARTITION_ROWS + 1, bytes: 1 };

async function store(project_id: string, slot: number, run: WireRun): Promise<void> {
  const { session_id: _, session_name: __, ...change } = toIncoming(run, "post", []);
  const partition = { project_id, day, slot };
  await tracePartition(env, partition).ingest(partition, [change], false);
}

const slotsWith = async (project_id: string, id: string, slots: number[]) => {
  const found = await Promise.all(
    slots.map(async (slot) => {
      const here = await tracePartition(env, { project_id, day, slot }).hasRuns([id]);
      return here.length > 0 ? slot : [];
    }),
  );
  return found.flat();
};

test.each([
  ["bytes", { rows: 1, bytes: MAX_PARTITION_BYTES + 1 }],
  ["runs", FULL],
])(
  "a day whose object has too many %s opens more slots, and older runs stay in theirs",
  async (name, size) => {
    const ours = await workspace();
    const project_id = await projectWith(ours, name, { ...size, slots: 1 });
    const root = wireRun(name, {}, { at: NOON });
    await store(project_id, 0, root);

    const child = wireRun(name, { outputs: { b: 1 } }, { at: NOON + 1, parent: root });
    const patches = [{ id: root.id, outputs: { a: 1 }, end_time: NOON + 9 }];
    expect((await batch(ours.editor, [child], patches)).status).toBe(202);
    const open = slotOf(root.id, 1);
    const { results } = await catalogue(project_id);
    expect(results.map(({ slot }) => slot)).toEqual([0, open]);
    expect(await slotsWith(project_id, root.id, [0, open])).toEqual([0]);
    expect(await slotsWith(project_id, child.id, [0, open])).toEqual([open]);

    expect(await read(ours.viewer, root.id)).toMatchObject({
      outputs: { a: 1 },
      child_run_ids: [child.id],
    });
    const post = async (path: string, json: object) =>
      (await api(path, { key: ours.admin, json: { ...json, session: [project_id] } })).json();
    expect(await post("/runs/query", { select: ["outputs"], order: "asc" })).toMatchObject({
      runs: [{ outputs: { a: 1 } }, { outputs: { b: 1 } }],
    });
    expect(await post("/runs/stats", {})).toMatchObject({ run_count: 2 });
    const trace = { session_id: project_id, trace_ids: [root.id] };
    expect(await post("/runs/delete", trace)).toEqual({ message: "2 runs deleted." });
  },
);

test.each([1, 2, 3])(
  "a batch of one trace calls at most two objects for each of %i full generations",
  async (generations) => {
    const ours = await workspace();
    const name = `generations ${generations}`;
    const slots = firstSlot(generations);
    const project_id = await projectWith(ours, name, { ...FULL, slots });
    const root = wireRun(name, {}, { at: NOON });
    const children = Array.from({ length: 99 }, (_, n) =>
      wireRun(name, {}, { at: NOON + 1 + n, parent: root }),
    );
    const counted = await countWork([project_id]);
    expect((await batch(ours.editor, [root, ...children])).status).toBe(202);
    const { trace_requests } = counted.stop();
    // The first run of a slot marks the one before it as full.
    expect(trace_requests).toBeLessThanOrEqual(2 * generations + 2);
    expect(await slotsWith(project_id, root.id, [slotOf(root.id, generations)])).toHaveLength(1);
  },
);

test("a run of an unknown trace is changed in whatever slot it is", async () => {
  const ours = await workspace();
  const name = "unknown trace";
  const project_id = await projectWith(ours, name, { ...FULL, slots: firstSlot(2) });
  const root = wireRun(name, {}, { at: NOON });
  const child = wireRun(name, {}, { at: NOON + 1, parent: root });
  const known = slotOf(root.id, 1);
  await store(project_id, known, root);

  const end = (id: string) => ({ id, session_name: name, outputs: { a: 1 }, end_time: NOON + 9 });
  expect((await batch(ours.editor, [], [end(root.id), end(child.id)])).status).toBe(202);
  const { session_name: _, ...later } = child;
  const again = await batch(ours.editor, [{ ...later, session_id: project_id }]);
  expect(again.status).toBe(202);

  const all = [...Array(firstSlot(3)).keys()];
  expect(await slotsWith(project_id, root.id, all)).toEqual([known]);
  expect(await slotsWith(project_id, child.id, all)).toEqual([firstSlot(2)]);
  expect(await read(ours.viewer, child.id)).toMatchObject({
    outputs: { a: 1 },
    trace_id: root.id,
    inputs: child.inputs,
  });
});

test("feedback of a run that has not arrived is in the slot of its trace", async () => {
  const ours = await workspace();
  const name = "early feedback";
  const project_id = await projectWith(ours, name, { ...FULL, slots: firstSlot(2) });
  const root = wireRun(name, {}, { at: NOON });
  const slot = slotOf(root.id, 2);
  let child = wireRun(name, {}, { at: NOON + 1, parent: root });
  while (slotOf(child.id, 2) === slot) child = wireRun(name, {}, { at: NOON + 1, parent: root });
  const json = { run_id: child.id, trace_id: root.id, session_id: project_id, key: "k", score: 1 };
  expect((await api("/feedback", { key: ours.editor, json })).status).toBe(200);
  expect((await batch(ours.editor, [root, child])).status).toBe(202);
  expect(await read(ours.viewer, child.id)).toMatchObject({ feedback_stats: { k: { n: 1 } } });
});

test("an isolate that does not know a new generation yet changes runs where they are", async () => {
  const ours = await workspace();
  const name = "two isolates";
  const project_id = await projectWith(ours, name, { slots: 1, rows: 1, bytes: 1 });
  const [first, split, unknown] = [0, 1, 2].map((n) => wireRun(name, {}, { at: NOON + n }));
  if (!(first && split && unknown)) throw new Error("Three runs");
  // Reads the slots of the day, which stay in memory.
  expect((await batch(ours.editor, [first])).status).toBe(202);
  await env.DB.prepare("UPDATE partitions SET rows = ?, seq = seq + 1e9 WHERE project_id = ?")
    .bind(FULL.rows, project_id)
    .run();

  const path = "../../src/traces/object/slots.ts?other-isolate";
  const other: typeof import("../../src/traces/object/slots.ts") = await import(path);
  const ctx = systemContext(ours.workspace_id);
  const opened = await other.openPartition(ctx, { project_id, day }, split.id);
  await store(project_id, opened.slot, split);

  const end = { outputs: { a: 1 }, end_time: NOON + 9 };
  const { trace_id, dotted_order } = split;
  const named = { id: split.id, trace_id, dotted_order, session_name: name, ...end };
  expect((await batch(ours.editor, [], [named])).status).toBe(202);
  const late = { id: unknown.id, session_name: name, ...end };
  expect((await batch(ours.editor, [], [late])).status).toBe(202);
  const all = [0, 1, 2];
  expect(await slotsWith(project_id, first.id, all)).toEqual([0]);
  expect(await slotsWith(project_id, split.id, all)).toEqual([slotOf(split.id, 1)]);
  expect(await slotsWith(project_id, unknown.id, all)).toEqual([firstSlot(1)]);
  expect(await read(ours.viewer, split.id)).toMatchObject({ outputs: { a: 1 } });
});

test("no call for an old slot creates its object again", async () => {
  const partition = { project_id: crypto.randomUUID(), day, slot: 0 };
  const run = { id: crypto.randomUUID(), trace_id: crypto.randomUUID(), dotted_order: "" };
  const parent = { ...run, end_us: NOON * 1000, span_ids: [run.id] };
  await tracePartition(env, partition).markFull();
  await tracePartition(env, partition).linkSpans(partition, [parent], true);
  const stub = env.PARTITIONS.getByName(Object.values(partition).join("/"));
  await runInDurableObject(stub, async (_, { storage }) => {
    expect([await storage.getAlarm(), (await storage.list()).size]).toEqual([null, 0]);
  });
});

test("a slot follows the one for its traces in the generation before", () => {
  expect(slotBefore(0)).toBeNull();
  for (let slot = 0; slot < 63; slot++) {
    expect(slotsAfter(slot).map(slotBefore)).toEqual([slot, slot]);
  }
});

test("traces are spread over all slots of a generation, and keep theirs", () => {
  const ids = Array.from({ length: 2000 }, () => crypto.randomUUID());
  for (const generation of [0, 1, 2, 3]) {
    const slots = ids.map((id) => slotOf(id, generation));
    const count = firstSlot(generation + 1) - firstSlot(generation);
    expect(new Set(slots).size).toBe(count);
    expect(Math.min(...slots)).toBe(firstSlot(generation));
    expect(Math.max(...slots)).toBe(firstSlot(generation + 1) - 1);
    expect(ids.map((id) => slotOf(id, generation))).toEqual(slots);
  }
});
