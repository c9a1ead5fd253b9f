import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { consumeProjectDeletion } from "../../src/traces/deletion/project-deletion.ts";
import { slotOf, slotsAfter } from "../../src/traces/locations/generations.ts";
import { LOCATION_SIZE } from "../../src/traces/locations/locations.ts";
import { LocationObject } from "../../src/traces/locations/object.ts";
import { countWork } from "../support/counted-work.ts";
import { eventually } from "../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { locationsOf } from "./support/locations.ts";
import { hexId, runsByName, sendSpans, type TestSpan, toProtobuf } from "./support/otlp.ts";
import { batch, catalogue, patch, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

const MIDNIGHT = Date.parse("2026-03-02T00:00:00Z");

/** A root with children that start one after the other. */
function traceOf(children: number, start_ms = Date.now(), trace = hexId(16)): TestSpan[] {
  const root = { trace, id: hexId(8), name: "root", start_ms, end_ms: start_ms + 1000 };
  const below = Array.from({ length: children }, (_, n) => {
    const at = start_ms + n;
    return { trace, id: hexId(8), parent: root.id, name: `c${n}`, start_ms: at, end_ms: at + 1 };
  });
  return [root, ...below];
}

async function send({ editor }: TestWorkspace, project: string, spans: TestSpan[]): Promise<void> {
  expect((await sendSpans(toProtobuf(spans), { key: editor, project })).status).toBe(200);
}

async function status(key: string, id: string): Promise<number> {
  return (await api(`/runs/${id}`, { key })).status;
}

async function projectOf({ viewer }: TestWorkspace, name: string): Promise<string> {
  return (await projectId(viewer, name)) ?? "";
}

async function runAlarms(project_id: string): Promise<void> {
  for (const { day, slot } of (await catalogue(project_id)).results) {
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${project_id}/${day}/${slot}`));
  }
}

test("500 spans in 50 traces write nothing to D1, and one row of locations", async () => {
  const ours = await workspace();
  await send(ours, "counted", traceOf(1));
  const spans = Array.from({ length: 50 }, () => traceOf(9)).flat();
  const first = await countWork([ours.workspace_id]);
  await send(ours, "counted", spans);
  const counts = first.stop();
  expect([counts.catalogue_writes, counts.location_requests, counts.location_rows]).toEqual([
    0, 1, 1,
  ]);

  const second = await countWork([ours.workspace_id]);
  await send(ours, "counted", spans.toReversed());
  const { catalogue_writes, location_requests, location_rows } = second.stop();
  expect([catalogue_writes, location_requests, location_rows]).toEqual([0, 1, 0]);
  expect((await locationsOf(ours.workspace_id)).length).toBe(51 * 2);
});

test("each span of a trace over midnight is found by its id, and no other id that begins alike", async () => {
  const [ours, theirs] = await Promise.all([workspace(), workspace()]);
  const spans = traceOf(6, MIDNIGHT - 3);
  for (const span of spans.toReversed()) await send(ours, "midnight", [span]);
  await send(theirs, "midnight", spans.slice(0, 1));
  const runs = await runsByName(ours.viewer, await projectOf(ours, "midnight"));
  expect(runs.size).toBe(7);
  for (const { id, name } of runs.values())
    expect([name, (await read(ours.viewer, id)).id]).toEqual([name, id]);
  const { id = "" } = runs.get("c5") ?? {};
  expect(await status(theirs.viewer, id)).toBe(404);

  const unknown = `${id.slice(0, 19)}0000-000000000001`;
  expect(await status(ours.viewer, unknown)).toBe(404);
  expect((await patch(ours.editor, unknown, { name: "none" })).status).toBe(404);
  expect((await patch(ours.editor, id, { name: "renamed" })).status).toBe(202);
  expect(await read(ours.viewer, id)).toMatchObject({ name: "renamed" });
});

test("a span that names no project stays where it is when it arrives again without its root", async () => {
  const ours = await workspace();
  const [root, child] = traceOf(1) as [TestSpan, TestSpan];
  const named = { ...root, attributes: { "langsmith.trace.session_name": "named" } };
  const send = (spans: TestSpan[]) => sendSpans(toProtobuf(spans), { key: ours.editor });
  expect((await send([child, named])).status).toBe(200);
  const runs = await runsByName(ours.viewer, await projectOf(ours, "named"));
  expect([...runs.keys()].toSorted()).toEqual(["c0", "root"]);
  expect((await send([{ ...child, name: "again" }])).status).toBe(200);
  const after = await runsByName(ours.viewer, await projectOf(ours, "named"));
  expect(after.size).toBe(2);
  expect((await locationsOf(ours.workspace_id)).length).toBe(2);
});

test.each([
  ["a random id", () => hexId(16)],
  ["a random id like one of a far day", () => `a1c8ad563b057c738${hexId(8).slice(1)}`],
])(
  "a span that arrives after the deletion of its trace, %s, has a location until it is deleted",
  async (_, traceId) => {
    const ours = await workspace();
    const [root, ...children] = traceOf(2, MIDNIGHT + 1, traceId());
    await send(ours, "late", [root as TestSpan, ...children]);
    const project_id = await projectOf(ours, "late");
    const runs = await runsByName(ours.viewer, project_id);
    const [trace, late] = [runs.get("root")?.id ?? "", runs.get("c1")?.id ?? ""];
    const remove = async () => {
      const json = { session_id: project_id, trace_ids: [trace] };
      return (
        await (await api("/runs/delete", { key: ours.admin, json })).json<{ message: string }>()
      ).message;
    };
    expect(await remove()).toBe("3 runs deleted.");
    await runAlarms(project_id);
    const isGone = async () => expect(await locationsOf(ours.workspace_id)).toEqual([]);
    await eventually(isGone);
    await send(ours, "late", children.slice(1));
    await runAlarms(project_id);
    expect([await status(ours.viewer, late), await status(ours.viewer, trace)]).toEqual([200, 404]);
    expect((await locationsOf(ours.workspace_id)).map(({ id }) => id)).toEqual([
      `${late.slice(0, 19)}0000-000000000000`,
    ]);

    expect(await remove()).toBe("1 runs deleted.");
    await runAlarms(project_id);
    await eventually(isGone);
  },
);

test("a span that arrives while the location of its deleted trace is deleted has one again", async () => {
  const ours = await workspace();
  const spans = traceOf(1, MIDNIGHT + 1);
  await send(ours, "meanwhile", spans);
  const project_id = await projectOf(ours, "meanwhile");
  const runs = await runsByName(ours.viewer, project_id);
  const late = runs.get("c0")?.id ?? "";
  const json = { session_id: project_id, trace_ids: [runs.get("root")?.id] };
  expect((await api("/runs/delete", { key: ours.admin, json })).status).toBe(200);
  await runAlarms(project_id);
  const located = () => locationsOf(ours.workspace_id);
  await eventually(async () => expect(await located()).toEqual([]));
  // The span has found the location before the deletion.
  const add = vi.spyOn(LocationObject.prototype, "add").mockResolvedValue([]);
  await send(ours, "meanwhile", spans.slice(1));
  expect(add).toHaveBeenCalledOnce();
  add.mockRestore();
  expect(await located()).toEqual([]);
  await runAlarms(project_id);
  await eventually(async () => expect(await located()).toHaveLength(1));
  expect(await status(ours.viewer, late)).toBe(200);
});

test("run ids that a full LocationObject refuses are found in the next objects, and deleted from all", async () => {
  const ours = await workspace();
  LOCATION_SIZE.of.set(ours.workspace_id, 4);
  const made = Array.from({ length: 10 }, (_, n) =>
    ["kept", "gone"].map((name) =>
      wireRun(name, { id: crypto.randomUUID() }, { at: MIDNIGHT + n }),
    ),
  );
  for (const runs of made) expect((await batch(ours.editor, runs)).status).toBe(202);
  const all = made.flat();
  const before = await locationsOf(ours.workspace_id, 15);
  expect(new Set(before.map(({ slot }) => slot)).size).toBeGreaterThan(2);
  expect(before.map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted());
  const found = () => Promise.all(all.map(({ id }) => status(ours.viewer, id)));
  expect(await found()).toEqual(all.map(() => 200));
  const again = await countWork([ours.workspace_id]);
  expect((await batch(ours.editor, all)).status).toBe(202);
  expect(again.stop().location_rows).toBe(0);

  const project_id = await projectOf(ours, "gone");
  const [first = [], ...others] = made;
  const deleted = { session_id: project_id, trace_ids: [first[1]?.id] };
  expect((await api("/runs/delete", { key: ours.admin, json: deleted })).status).toBe(200);
  await runAlarms(project_id);
  const idsOf = async () =>
    (await locationsOf(ours.workspace_id, 15)).map(({ id }) => id).toSorted();
  const left = [first[0], ...others.flat()].map((run) => run?.id).toSorted();
  await eventually(async () => expect(await idsOf()).toEqual(left));

  await api(`/sessions/${project_id}`, { key: ours.admin, method: "DELETE" });
  await consumeProjectDeletion(env, { project_id });
  const kept = made.flatMap(([run]) => run ?? []);
  expect(await idsOf()).toEqual(kept.map(({ id }: WireRun) => id).toSorted());
  expect(await found()).toEqual(
    all.map(({ session_name }) => (session_name === "kept" ? 200 : 404)),
  );
  LOCATION_SIZE.of.delete(ours.workspace_id);
});

test("the slots after a slot take each id of it in the next generation", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.nat(10), (id, generation) => {
      expect(slotsAfter(slotOf(id, generation))).toContain(slotOf(id, generation + 1));
    }),
  );
});
