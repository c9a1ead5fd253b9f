import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { planExport } from "../../src/exports/progress/plan.ts";
import type { ExportRow } from "../../src/exports/table.ts";
import { digestOf } from "../support/parquet.ts";
import { api } from "../support/workspace.ts";
import { batch, patch, wireRun } from "../traces/support/runs.ts";
import { carryOn, contents, readFiles, readObject, readRow } from "./support/exports.ts";
import {
  ALL,
  clean,
  cleanAll,
  countPages,
  DAY,
  deleteSealed,
  exportDay,
  NOON,
  order,
  partition,
  ROWS,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "./support/sealed.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

describe("a past day", () => {
  test(
    "is kept by its first export, and later exports copy it byte for byte",
    async () => {
      const one = await scene(12_000);
      const pages = countPages(one);
      const row = await order(one);
      expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
      const first = await contents(row);
      const encoded = pages();
      expect(encoded).toBeGreaterThan(0);
      const [file] = await readFiles(row.id);
      const [key = ""] = await sealedKeys(one);
      const sealed = new Uint8Array((await (await env.ARTIFACTS.get(key))?.arrayBuffer()) ?? []);
      expect(sealed.byteLength).toBeGreaterThan(8 * 1024 * 1024);
      const exported = new Uint8Array(await readObject(file?.key ?? ""));
      expect(await digestOf(sealed)).toBe(await digestOf(exported));

      expect(await exportDay(one)).toEqual(first);
      expect(await exportDay(one, { filter: " ", end_us: row.end_us ?? 0 })).toEqual(first);
      expect(pages()).toBe(encoded);
      expect(await exportDay(one, { filter: ALL })).toEqual(first);
      expect(pages()).toBeGreaterThan(encoded);
      expect(await sealedKeys(one)).toEqual([key]);
    },
    SLOW_MS,
  );

  test(
    "is not kept by exports with a filter, chosen fields, another compression or a part of it",
    async () => {
      const one = await scene();
      const parts: Partial<ExportRow>[] = [
        { filter: ALL },
        { export_fields: ["id", "inputs"] },
        { compression: "none" },
        { end_us: Date.parse(`${DAY}T23:00:00Z`) * 1000 },
      ];
      for (const fields of parts) await exportDay(one, fields);
      expect(await sealedKeys(one)).toEqual([]);
      const whole = await exportDay(one);
      expect(await sealedKeys(one)).toHaveLength(1);
      for (const fields of parts) expect((await exportDay(one, fields))[0]?.[1]).toBe(ROWS);
      expect(await sealedKeys(one)).toHaveLength(1);
      expect(await exportDay(one)).toEqual(whole);
    },
    SLOW_MS,
  );

  test(
    "is kept once by exports that write it at once",
    async () => {
      const one = await scene();
      const all = await Promise.all([exportDay(one), exportDay(one), exportDay(one)]);
      await clean(one);
      expect(await sealedKeys(one)).toHaveLength(1);
      for (const each of all) expect(each).toEqual(await exportDay(one));
    },
    SLOW_MS,
  );

  test("wakes its object no more", async () => {
    const one = await scene();
    const alarm = () => runInDurableObject(partition(one), (_, { storage }) => storage.getAlarm());
    await clean(one);
    await runInDurableObject(partition(one), (_, { storage }) => storage.deleteAlarm());
    await exportDay(one);
    expect([await sealedKeys(one), await alarm()]).toEqual([[expect.anything()], null]);
  });
});

describe("a kept day is deleted and encoded again after", () => {
  type Change = (of: Scene, run: Record<string, unknown>) => Promise<Response>;
  const late: Change = ({ ours, project }) => {
    const { session_name: _, ...run } = wireRun("", {}, { at: Date.parse(NOON) + 1 });
    return batch(ours.editor, [{ ...run, session_id: project }]);
  };
  const remove: Change = ({ ours, project }, { id }) =>
    api("/runs/delete", { key: ours.admin, json: { session_id: project, trace_ids: [id] } });
  const rate: Change = ({ ours }, { id }) =>
    api("/feedback", { key: ours.editor, json: { run_id: id, key: "k", score: 1 } });
  const unrate: Change = async ({ ours }, { id }) => {
    const listed = await api(`/feedback?run=${id}`, { key: ours.viewer });
    const [feedback] = await listed.json<{ id: string }[]>();
    return api(`/feedback/${feedback?.id}`, { key: ours.admin, method: "DELETE" });
  };

  test(
    "each kind of change",
    async () => {
      const one = await scene();
      const query = { session: [one.project], limit: 1 };
      const found = await api("/runs/query", { key: one.ours.viewer, json: query });
      const [run = {}] = (await found.json<{ runs: Record<string, unknown>[] }>()).runs;
      const changes: Record<string, Change> = {
        late,
        patched: ({ ours }, { id }) => patch(ours.editor, String(id), { outputs: { a: 1 } }),
        rated: rate,
        unrated: unrate,
        deleted: remove,
      };
      let before = await exportDay(one);
      for (const [name, change] of Object.entries(changes)) {
        const [key] = await sealedKeys(one);
        const response = await change(one, run);
        expect([name, response.ok]).toEqual([name, true]);
        await cleanAll(one);
        const after = await exportDay(one);
        expect(after).not.toEqual(before);
        expect(after).toEqual(await exportDay(one, { filter: ALL }));
        expect(await sealedKeys(one)).not.toEqual([key]);
        before = after;
      }
    },
    SLOW_MS,
  );

  test("only calls that change a run", async () => {
    const one = await scene();
    await exportDay(one);
    const keys = await sealedKeys(one);
    expect(keys).toHaveLength(1);
    const json = { session_id: one.project, trace_ids: [crypto.randomUUID()] };
    expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
    await clean(one);
    const pages = countPages(one);
    await exportDay(one);
    expect([await sealedKeys(one), pages()]).toEqual([keys, 0]);
  });
});

test("a run that changes between the plan and the file keeps its day from being kept", async () => {
  const one = await scene();
  const row = await order(one, { status: "RUNNING" });
  await planExport(env, await readRow(row.id));
  const run = wireRun("", {}, { at: Date.parse(NOON) + 1 });
  await batch(one.ours.editor, [{ ...run, session_name: undefined, session_id: one.project }]);
  await carryOn(row.id);
  expect(await sealedKeys(one)).toEqual([]);
  expect((await exportDay(one))[0]?.[1]).toBe(ROWS + 1);
  expect(await sealedKeys(one)).toHaveLength(1);
});

test("a file planned before a change is not copied from what was kept after it", async () => {
  const one = await scene();
  const row = await order(one, { status: "RUNNING" });
  await planExport(env, await readRow(row.id));
  const run = wireRun("", {}, { at: Date.parse(NOON) + 1 });
  await batch(one.ours.editor, [{ ...run, session_name: undefined, session_id: one.project }]);
  await exportDay(one);
  await carryOn(row.id);
  expect((await contents(row))[0]?.[1]).toBe(ROWS);
});
