import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FetchedFrames, MAX_FETCHED_BYTES } from "../../src/traces/cold/fetched-frames.ts";
import { consumeProjectDeletion } from "../../src/traces/deletion/project-deletion.ts";
import { removeLeftovers } from "../../src/traces/object/leftovers.ts";
import { ColdStorage } from "../../src/traces/storage/cold-storage.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import {
  ALL,
  cleanAll,
  DAY,
  deleteSealed,
  exportDay,
  NOON,
  partition,
  ROWS,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "../exports/support/sealed.ts";
import { eventually } from "../support/eventually.ts";
import { api } from "../support/workspace.ts";
import { after, bodies, cool, wake, warm } from "./support/cold.ts";
import { batch, patch, post, read, type WireRun, wireRun } from "./support/runs.ts";
import { placesOf } from "./support/storage-scan.ts";

/** Incompressible characters of a run: bodies of 1.4 MB together. */
const TEXT = 1900;

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

const marker = () => `marker${crypto.randomUUID().replaceAll("-", "")}`;

/** Adds a run in the middle of the day's runs. */
async function addRun({ ours, project }: Scene, fields: Record<string, unknown>): Promise<WireRun> {
  const { session_name: _, ...run } = wireRun("", fields, { at: Date.parse(NOON) + 500_001 });
  const response = await batch(ours.editor, [{ ...run, session_id: project }]);
  expect(response.status).toBe(202);
  return run;
}

async function answer({ ours }: Scene, path: string, json: unknown): Promise<unknown> {
  const response = await post(ours.viewer, path, json);
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}

/** Questions that need bodies, each with its answer. */
function questions(one: Scene, run: WireRun, text: string): Record<string, () => Promise<unknown>> {
  const session = [one.project];
  const query = async (fields: object) => {
    const json = { session, limit: 100, ...fields };
    return ((await answer(one, "/runs/query", json)) as { runs: object[] }).runs;
  };
  const group_by = { attribute: "metadata", path: "user_id" };
  return {
    "a run by its id": () => read(one.ours.viewer, run.id),
    "the newest runs": () => query({}),
    "the oldest runs": () => query({ order: "asc" }),
    "runs by metadata": () =>
      query({ filter: 'and(eq(metadata_key, "city"), eq(metadata_value, "Ulm"))' }),
    "runs by text": () => query({ filter: `search("${text}")` }),
    "statistics by metadata": () => answer(one, "/runs/stats", { session, group_by }),
    "an export": () => exportDay(one, { filter: ALL }),
  };
}

test(
  "bodies of an old day are in R2, and every answer is the same",
  async () => {
    const one = await scene(TEXT);
    const text = marker();
    const run = await addRun(one, { inputs: { text }, extra: { metadata: { city: "Ulm" } } });
    const reads = Object.entries(questions(one, run, text));
    const expected: unknown[] = [];
    for (const [, readAll] of reads) expected.push(await readAll());
    const hot = await bodies(one);
    const cold = await cool(one);
    expect(cold.bytes).toBeLessThan(hot.bytes / 3);
    await evictDurableObject(partition(one));
    for (const [n, [name, readAll]] of reads.entries()) {
      expect([name, await readAll()]).toEqual([name, expected[n]]);
    }
    expect((await bodies(one)).hot).toBeGreaterThan(0);
    expect(await cool(one)).toMatchObject({ keys: cold.keys });
    for (const [n, [name, readAll]] of reads.entries()) {
      expect([name, await readAll()]).toEqual([name, expected[n]]);
    }
  },
  SLOW_MS,
);

test(
  "a read of a run fetches its frame, and writes nothing",
  async () => {
    const one = await scene(TEXT);
    const run = await addRun(one, { inputs: { question: marker() } });
    const cold = await cool(one);
    const fetched: number[] = [];
    const bucket = watched(async (name, work) => {
      const object = await work();
      expect(name).toBe("get");
      fetched.push(((object as R2ObjectBody).range as { length: number }).length);
      return object;
    });
    const inputs = await runInDurableObject(partition(one), async (_, { storage }) => {
      const store = new PartitionStore(storage);
      return new ColdStorage(bucket, storage, store).attempt(() => {
        const place = store.segments.find(run.id);
        return place === null ? null : store.segments.read(place).inputs;
      });
    });
    expect(JSON.parse(inputs ?? "")).toEqual(run.inputs);
    expect(fetched).toEqual([expect.any(Number)]);
    expect(fetched[0]).toBeLessThan(256 * 1024);
    expect(await bodies(one)).toEqual({ ...cold, bytes: expect.any(Number) });
  },
  SLOW_MS,
);

test(
  "a read of a run restores its body when the isolate holds many frames",
  async () => {
    const one = await scene(TEXT);
    const run = await addRun(one, {});
    const { cold } = await cool(one);
    const others = new FetchedFrames();
    expect(others.reserve(MAX_FETCHED_BYTES)).toBe(true);
    await read(one.ours.viewer, run.id);
    others.release();
    expect(await bodies(one)).toMatchObject({ hot: 1, cold: cold - 1 });
  },
  SLOW_MS,
);

test(
  "a read of many runs restores the bodies that it needs, for a day",
  async () => {
    const one = await scene(TEXT);
    const { cold, keys } = await cool(one);
    await exportDay(one, { filter: ALL });
    expect(await bodies(one)).toMatchObject({ hot: cold, cold: 0, keys });
    await wake(one);
    expect(await bodies(one)).toMatchObject({ hot: cold });
    await after(1, () => wake(one));
    expect(await bodies(one)).toMatchObject({ hot: 0, keys });
  },
  SLOW_MS,
);

test(
  "late changes reach runs whose bodies are in R2",
  async () => {
    const one = await scene(TEXT);
    const run = await addRun(one, { inputs: { question: marker() } });
    const short = await addRun(one, { trace_tier: "shortlived" });
    await cool(one);
    const outputs = { late: marker() };
    expect((await patch(one.ours.editor, run.id, { outputs })).status).toBe(202);
    expect(await read(one.ours.viewer, run.id)).toMatchObject({ inputs: run.inputs, outputs });
    await cool(one);
    expect(await read(one.ours.viewer, run.id)).toMatchObject({ inputs: run.inputs, outputs });
    await cool(one);
    const feedback = { run_id: short.id, key: "k", score: 1 };
    expect((await post(one.ours.editor, "/feedback", feedback)).status).toBe(200);
    await cool(one);
    const changed = await read(one.ours.viewer, short.id);
    expect(changed).toMatchObject({ trace_tier: "longlived", inputs: short.inputs });
  },
  SLOW_MS,
);

describe("a run whose body was in R2", () => {
  async function marked(): Promise<Scene & { text: string; run: WireRun }> {
    const one = await scene(TEXT);
    const text = marker();
    const run = await addRun(one, { name: text, inputs: { text } });
    await cool(one);
    expect(await placesOf(text)).toEqual(["bucket", "object run"]);
    return { ...one, text, run };
  }

  test(
    "leaves no byte after the deletion of its trace",
    async () => {
      const { text, run, ...one } = await marked();
      const before = await bodies(one);
      const json = { session_id: one.project, trace_ids: [run.trace_id] };
      expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
      await eventually(async () => {
        await wake(one);
        expect(await placesOf(text)).toEqual([]);
      });
      const after = await cool(one);
      expect(before.keys.filter((key) => after.keys.includes(key))).toHaveLength(
        before.keys.length - 1,
      );
      const found = await answer(one, "/runs/stats", { session: [one.project] });
      expect(found).toMatchObject({ run_count: ROWS });
    },
    SLOW_MS,
  );

  test(
    "leaves no byte after the deletion of its day",
    async () => {
      const { text, ...one } = await marked();
      const key = { project_id: one.project, day: DAY, slot: 0 };
      const expired = await partition(one).expireTraces(key, { tier: "all", keep: [] });
      expect(expired).toMatchObject({ runs: ROWS + 1, has_leftovers: true });
      await cleanAll(one);
      expect(await placesOf(text)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "leaves no byte after the deletion of its project",
    async () => {
      const { text, ...one } = await marked();
      const path = `/sessions/${one.project}`;
      expect((await api(path, { key: one.ours.admin, method: "DELETE" })).status).toBe(202);
      await consumeProjectDeletion(env, { project_id: one.project });
      expect(await placesOf(text)).toEqual([]);
      expect(await sealedKeys(one)).toEqual([]);
    },
    SLOW_MS,
  );
});

type Call = (name: string, work: () => Promise<unknown>) => Promise<unknown>;

/** R2 whose calls go through a function. */
function watched(call: Call): Env {
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, name) => {
        const value = Reflect.get(of, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) =>
          call(String(name), async () => {
            const result = await Reflect.apply(value, of, args);
            return name === "createMultipartUpload" ? wrap(result as object) : result;
          });
      },
    });
  return { ...env, ARTIFACTS: wrap(env.ARTIFACTS) };
}

/** Moves bodies with another R2. */
async function move(one: Scene, bucket: Env): Promise<void> {
  const key = { project_id: one.project, day: DAY, slot: 0 };
  await runInDurableObject(partition(one), async (_, { storage }) => {
    const store = new PartitionStore(storage);
    await new ColdStorage(bucket, storage, store).run(key).catch(() => undefined);
  });
  await evictDurableObject(partition(one));
}

test(
  "a crash at any call of R2 loses nothing and leaves no object",
  async () => {
    const one = await scene(TEXT);
    await wake(one);
    const expected = await warm(one);
    expect(expected).toHaveLength(ROWS);
    let isDead = true;
    let crashes = 0;
    for (let at = 0; isDead; at++) {
      for (const isAfter of [false, true]) {
        let calls = 0;
        const dying = watched(async (_, work) => {
          const n = calls++;
          if (n > at || (n === at && !isAfter)) throw new Error("dead");
          const result = await work();
          if (n === at) throw new Error("dead");
          return result;
        });
        await after(2, () => move(one, dying));
        isDead = calls > at;
        if (isDead) crashes += 1;
        await cool(one);
        expect([at, await warm(one)]).toEqual([at, expected]);
      }
    }
    expect(crashes).toBeGreaterThan(3);
  },
  3 * SLOW_MS,
);

test(
  "a body that is uploaded while its run is deleted creates no object",
  async () => {
    const one = await scene(TEXT);
    const text = marker();
    await addRun(one, { inputs: { text } });
    await wake(one);
    const key = { project_id: one.project, day: DAY, slot: 0 };
    let wasUploading = false;
    await runInDurableObject(partition(one), async (_, { storage }) => {
      const store = new PartitionStore(storage);
      const bucket = watched(async (name, work) => {
        if (name === "complete" && !wasUploading) {
          wasUploading = true;
          store.deleteAllRuns();
          while (!(await removeLeftovers(env, key, store)));
        }
        return work();
      });
      await after(2, () => new ColdStorage(bucket, storage, store).run(key));
    });
    expect(wasUploading).toBe(true);
    await evictDurableObject(partition(one));
    expect(await sealedKeys(one)).toEqual([]);
    expect(await placesOf(text)).toEqual([]);
  },
  SLOW_MS,
);
