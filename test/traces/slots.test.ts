import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { MAX_PARTITION_BYTES, MAX_PARTITION_ROWS } from "../../src/traces/limits.ts";
import { firstSlot, slotOf } from "../../src/traces/locations/generations.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { countWork } from "../support/counted-work.ts";
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
    expect(trace_requests).toBeLessThanOrEqual(2 * generations + 1);
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
