import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { StoreObject } from "../../../src/agent-server/store/object.ts";
import { applyOps } from "../../../src/agent-server/store/operations.ts";
import { deleteStoreOf, emptyStoreOf } from "../../../src/agent-server/store/service.ts";
import type { NamedOp } from "../../../src/agent-server/store/storage/calls.ts";
import { STORE_SIZE } from "../../../src/agent-server/store/storage/limits.ts";
import type { StoredItem, StoreOp } from "../../../src/isolate/store-contract.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { isMigrated } from "../../../src/shared/storage/object-tables.ts";
import { childrenOf, slotsUpTo } from "../../../src/shared/storage/slots.ts";
import { eventually } from "../../support/eventually.ts";

afterEach(() => {
  STORE_SIZE.of.clear();
  vi.restoreAllMocks();
});

type Put = Extract<StoreOp, { op: "put" }>;
type Search = Extract<StoreOp, { op: "search" }>;
type List = Extract<StoreOp, { op: "namespaces" }>;

const SLOTS = slotsUpTo(3);

function smallStore(max_bytes = Number.POSITIVE_INFINITY) {
  const deployment_id = newId();
  const resize = (bytes: number) => STORE_SIZE.of.set(deployment_id, { max_bytes: bytes });
  resize(max_bytes);
  const stub = (slot: number) =>
    env.STORES.getByName(slot === 0 ? deployment_id : `${deployment_id}/${slot}`);
  const apply = (ops: StoreOp[]) => applyOps({ env, deployment_id, filters: null }, ops);
  const results = async (ops: StoreOp[]) => {
    const answer = await apply(ops);
    if (!answer.ok) throw new Error(answer.refusal.message);
    return answer.results;
  };
  const one = async <T>(op: StoreOp) => (await results([op]))[0] as T;
  const keyOf = (item: { namespace: string[]; key: string }) =>
    `${item.namespace.join(".")}/${item.key}`;
  const search = (more: Partial<Search> = {}) => one<StoredItem[]>(searchOp(more));
  const keys = async (more: Partial<Search> = {}) => (await search(more)).map(keyOf);
  const list = (more: Partial<List> = {}) => one<string[][]>(listOp(more));
  /** Namespaces of the items that an object has, each as often as it has items. */
  const rowsIn = (slot: number) =>
    runInDurableObject(stub(slot), (_, { storage }) =>
      isMigrated(storage)
        ? storage.sql
            .exec<{ namespace: string; key: string }>("SELECT namespace, key FROM items")
            .toArray()
        : [],
    );
  const divisionOf = (slot: number) =>
    runInDurableObject(stub(slot), (_, { storage }) =>
      storage.kv.get<{ isDone: boolean; frozen: number | null }>("division"),
    );
  /** Waits until no object is being divided. */
  const settle = () =>
    eventually(async () => {
      const divisions = await Promise.all(SLOTS.map(divisionOf));
      expect(divisions.every((division) => division?.isDone ?? true)).toBe(true);
    });
  const all = { deployment_id, resize, stub, apply, results, one, search, keys, list };
  return { ...all, rowsIn, divisionOf, settle };
}

const putOp = (namespace: string[], key: string, value: object = {}, more: Partial<Put> = {}) =>
  ({
    ...{ op: "put" as const, namespace, key, value: JSON.stringify(value), vectors: [] },
    ...{ ttl_ms: null, ...more },
  }) satisfies Put;
const getOp = (namespace: string[], key: string): NamedOp => ({
  ...{ op: "get", namespace, key, refresh: false },
});
const deleteOp = (namespace: string[], key: string): NamedOp => ({ op: "delete", namespace, key });
const searchOp = (more: Partial<Search>): Search => ({
  ...{ op: "search", prefix: [], filter: null, vector: null, limit: 1000, offset: 0 },
  ...{ refresh: false, ...more },
});
const listOp = (more: Partial<List>): List => ({
  ...{ op: "namespaces", conditions: [], max_depth: null, limit: 1000, offset: 0, ...more },
});

test("operations during divisions lose and double nothing, and a namespace is in one object", async () => {
  const store = smallStore(100_000);
  const wanted = new Map<string, string>();
  const text = "x".repeat(2000);
  const write = async (worker: number) => {
    for (let n = 0; n < 60; n++) {
      const [namespace, key] = [["users", `u${(worker * 7 + n) % 30}`], `k${worker}-${n % 20}`];
      const name = `${namespace.join(".")}/${key}`;
      if (n % 5 === 4) {
        await store.one(deleteOp(namespace, key));
        wanted.delete(name);
      } else {
        const value = { n, text };
        await store.one(putOp(namespace, key, value));
        wanted.set(name, JSON.stringify(value));
      }
      const read = await store.one<StoredItem | null>(getOp(namespace, key));
      expect(read?.value).toBe(wanted.get(name));
    }
  };
  const isOver = Promise.all([1, 2, 3, 4, 5, 6].map(write));
  let isWriting = true;
  void isOver.finally(() => {
    isWriting = false;
  });
  while (isWriting) {
    const found = await store.keys();
    expect(new Set(found).size).toBe(found.length);
  }
  await isOver;
  await store.settle();
  expect(await store.divisionOf(0)).toMatchObject({ isDone: true });
  const found = await store.search();
  const values = found.map((one) => [`${one.namespace.join(".")}/${one.key}`, one.value]);
  expect(values.sort()).toEqual([...wanted].sort());
  const rows = await Promise.all(SLOTS.map(store.rowsIn));
  expect(rows.flat()).toHaveLength(wanted.size);
  const places = Map.groupBy(
    rows.flatMap((some, slot) => some.map(({ namespace }) => ({ namespace, slot }))),
    ({ namespace }) => namespace,
  );
  for (const [, some] of places) expect(new Set(some.map(({ slot }) => slot)).size).toBe(1);
  expect(rows.filter((some) => some.length > 0).length).toBeGreaterThan(2);
}, 120_000);

test("a division that fails after a batch was added is repeated, and reads and writes stay exact", async () => {
  const store = smallStore();
  const names = Array.from({ length: 12 }, (_, n) => [["a", `n${n}`], `k${n}`] as const);
  await store.results(names.map(([namespace, key]) => putOp([...namespace], key, { v: 1 })));
  const { add } = StoreObject.prototype;
  const lost = vi.spyOn(StoreObject.prototype, "add");
  lost.mockImplementation(async function (this: StoreObject, ...args) {
    await add.apply(this, args);
    const { id } = Reflect.get(this, "ctx") as DurableObjectState;
    if (id.name?.startsWith(store.deployment_id)) throw new Error("The answer is lost");
  });
  store.resize(0);
  await store.one(putOp(["a", "n0"], "k0", { v: 2 }));
  store.resize(Number.POSITIVE_INFINITY);
  await eventually(async () => {
    expect((await store.divisionOf(0))?.frozen).toEqual(expect.any(Number));
  });
  await evictDurableObject(store.stub(0));
  await eventually(async () => {
    const added = await Promise.all(childrenOf(0).map(store.rowsIn));
    expect(added.flat()).toHaveLength(12);
  });
  // All items are in two objects.
  expect(await store.rowsIn(0)).toHaveLength(12);
  expect(await store.keys()).toHaveLength(12);
  expect(await store.list()).toHaveLength(12);
  await expect(store.one(putOp(["a", "n1"], "k1", { v: 2 }))).rejects.toThrow();

  lost.mockRestore();
  await store.results([putOp(["a", "n1"], "k1", { v: 3 }), deleteOp(["a", "n2"], "k2")]);
  await runDurableObjectAlarm(store.stub(0));
  await store.settle();
  const kept = new Map((await store.search()).map(({ key, value }) => [key, JSON.parse(value).v]));
  expect(kept.size).toBe(11);
  expect([kept.get("k0"), kept.get("k1"), kept.get("k3")]).toEqual([2, 3, 1]);
  expect(await store.rowsIn(0)).toEqual([]);
}, 60_000);

test("operations after a search reach items that the root has not moved yet", async () => {
  const alarm = vi.spyOn(StoreObject.prototype, "alarm").mockResolvedValue();
  const store = smallStore();
  const names = ["put", "deleted", "got"];
  await store.results(names.map((name) => putOp([name], "k", { v: 1 })));
  store.resize(0);
  await store.one(putOp(["put"], "k", { v: 2 }));
  store.resize(Number.POSITIVE_INFINITY);
  expect(await store.divisionOf(0)).toMatchObject({ isDone: false, frozen: null });
  await store.results([searchOp({}), putOp(["put"], "k", { v: 3 })]);
  await store.results([searchOp({}), deleteOp(["deleted"], "k")]);
  const after = [
    getOp(["got"], "k"),
    putOp(["new"], "k", { v: 4 }),
    listOp({}),
    getOp(["new"], "k"),
  ];
  const [, got, , listed, fresh] = await store.results([searchOp({}), ...after]);
  expect([got, listed, fresh]).toMatchObject([
    { value: '{"v":1}' },
    [["got"], ["new"], ["put"]],
    { value: '{"v":4}' },
  ]);
  expect((await store.rowsIn(0)).map(({ namespace }) => namespace).sort()).toEqual([
    "got.",
    "put.",
  ]);

  alarm.mockRestore();
  await store.one(putOp(["put"], "k", { v: 5 }));
  await runDurableObjectAlarm(store.stub(0));
  await store.settle();
  const kept = await store.search();
  expect(kept.map(({ namespace, value }) => `${namespace}${value}`).sort()).toEqual([
    'got{"v":1}',
    'new{"v":4}',
    'put{"v":5}',
  ]);
}, 60_000);

const QUERIES: Partial<Search>[] = [
  {},
  { limit: 7 },
  { limit: 7, offset: 5 },
  { limit: 50, offset: 33 },
  { prefix: ["a"], limit: 9, offset: 2 },
  { prefix: ["a", "x1"] },
  { prefix: ["none"] },
  { filter: { color: "red" }, limit: 6, offset: 3 },
  { filter: { n: { $gte: 20 } }, prefix: ["b"] },
  { vector: Float32Array.of(1, 0.3), limit: 5 },
  { vector: Float32Array.of(1, 0.3), limit: 8, offset: 4, prefix: ["a"] },
  { vector: Float32Array.of(0.1, 1), filter: { color: "blue" }, limit: 4, offset: 2 },
];
const LISTS: Partial<List>[] = [
  {},
  { limit: 4, offset: 3 },
  { max_depth: 1 },
  { max_depth: 1, limit: 1, offset: 1 },
  { conditions: [{ match: "prefix", path: ["a"] }], limit: 3 },
  { conditions: [{ match: "suffix", path: ["deep"] }], max_depth: 2 },
];

function itemOf(n: number) {
  const root = n % 3 === 0 ? "b" : "a";
  const namespace = [root, `x${n % 8}`, ...(n % 5 === 0 ? ["\u{1f600}", "deep"] : [])];
  const value = { n, color: n % 2 === 0 ? "red" : "blue" };
  const vectors = n % 4 === 3 ? [] : [Float32Array.of(Math.cos(n), Math.sin(n))];
  return putOp(namespace, `k${n}`, value, { vectors });
}

async function expectEqual(...stores: ReturnType<typeof smallStore>[]) {
  for (const query of QUERIES) {
    const found = await Promise.all(stores.map((store) => store.search(query)));
    const [one, other] = found.map((items) =>
      items.map(({ created_at: _c, updated_at: _u, ...item }) => item),
    );
    expect(other, JSON.stringify(query)).toEqual(one);
  }
  for (const query of LISTS) {
    const [one, other] = await Promise.all(stores.map((store) => store.list(query)));
    expect(other, JSON.stringify(query)).toEqual(one);
  }
}

/** Earlier versions numbered items and changes from 1 on. */
function numberAsBefore(stub: DurableObjectStub<StoreObject>) {
  return runInDurableObject(stub, (_, { storage: { sql } }) => {
    const ids = sql.exec<{ id: number }>("SELECT id FROM items ORDER BY seq").toArray();
    for (const [n, { id }] of ids.entries()) {
      sql.exec("UPDATE vectors SET item_id = ? WHERE item_id = ?", n + 1, id);
      sql.exec("UPDATE items SET id = ?, seq = ? WHERE id = ?", n + 1, n + 1, id);
    }
  });
}

test("searches and lists of several objects have what one object has, with items of earlier versions", async () => {
  const [single, many] = [smallStore(), smallStore()];
  for (const store of [single, many]) {
    await store.results(Array.from({ length: 20 }, (_, n) => itemOf(n)));
    await numberAsBefore(store.stub(0));
  }
  many.resize(0);
  for (let n = 20; n < 45; n++) {
    for (const op of [itemOf(n), itemOf(n - 18)]) {
      // Changes of one millisecond in several objects have no order.
      await scheduler.wait(2);
      for (const store of [single, many]) await store.one(op);
    }
    if (n === 30) await many.settle();
  }
  await many.settle();
  const sizes = await Promise.all(SLOTS.map(async (slot) => (await many.rowsIn(slot)).length));
  expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(4);
  await expectEqual(single, many);
}, 120_000);

test("a batch of several objects keeps its order, and an invalid one changes nothing", async () => {
  const store = smallStore(0);
  await store.results([putOp(["a"], "k"), putOp(["b"], "k")]);
  await store.settle();
  const [, , found, , got, after] = await store.results([
    putOp(["c"], "new", { v: 1 }),
    putOp(["d"], "new", { v: 1 }),
    searchOp({ filter: { v: 1 } }),
    deleteOp(["c"], "new"),
    getOp(["c"], "new"),
    searchOp({ filter: { v: 1 } }),
  ]);
  expect([found, got, after]).toMatchObject([[{ key: "new" }, { key: "new" }], null, [{}]]);
  const refused = await store.apply([putOp(["e"], "k"), putOp(["f."], "k")]);
  expect(refused).toMatchObject({ ok: false, refusal: { code: "invalid_request" } });
  expect(await store.keys({ prefix: ["e"] })).toEqual([]);
  const big = { text: "x".repeat(1_800_000) };
  const names = Array.from({ length: 14 }, (_, n) => ["big", `n${n}`]);
  for (const namespace of names) await store.one(putOp(namespace, "k", big));
  const reads = names.map((namespace) => getOp(namespace, "k"));
  expect(await store.results(reads.slice(0, 13))).toHaveLength(13);
  const tooLarge = { ok: false, refusal: { code: "too_large" } };
  expect(await store.apply(reads)).toMatchObject(tooLarge);
  expect(await store.apply([searchOp({ prefix: ["big"] })])).toMatchObject(tooLarge);
  expect(await store.keys({ prefix: ["big"], limit: 13 })).toHaveLength(13);
}, 60_000);

test("objects count two bytes a character for values outside of Latin-1", async () => {
  const store = smallStore(0);
  await store.results([putOp(["a"], "k"), putOp(["b"], "k")]);
  await store.settle();
  const big = { text: `${"x".repeat(1_800_000)}\u{1f600}` };
  const names = Array.from({ length: 10 }, (_, n) => ["big", `n${n}`]);
  for (const namespace of names) await store.one(putOp(namespace, "k", big));
  const tooLarge = { ok: false, refusal: { code: "too_large" } };
  const page = searchOp({ prefix: ["big"] });
  expect(await store.apply([page])).toMatchObject(tooLarge);
  expect(await store.one({ ...page, limit: 6 })).toHaveLength(6);
  expect(await store.apply(names.map((namespace) => getOp(namespace, "k")))).toMatchObject(
    tooLarge,
  );
}, 60_000);

test.each([
  ["one object", undefined],
  ["several objects", 0],
])(
  "a refusal of %s has the bytes of results that its caller does not take",
  async (_, max_bytes) => {
    const store = smallStore(max_bytes);
    const value = { text: `${"x".repeat(2000)}\u{1f600}` };
    for (let n = 0; n < 8; n++) await store.one(putOp([`n${n}`], "k", value));
    await store.settle();
    const reader = { env, deployment_id: store.deployment_id, filters: null };
    const refusedBytes = async (op: StoreOp, max_bytes: number) => {
      const answer = await applyOps(reader, [op], max_bytes);
      return answer.ok ? null : (answer.refusal.bytes ?? 0);
    };
    for (const op of [getOp(["n1"], "k"), searchOp({}), listOp({})]) {
      const first = (await refusedBytes(op, 100)) ?? 0;
      // Several objects estimate the bytes first.
      const bytes = (await refusedBytes(op, first)) ?? first;
      expect(bytes).toBeGreaterThan(100);
      expect(await refusedBytes(op, bytes)).toBeNull();
      expect(await refusedBytes(op, bytes - 1)).toBe(bytes);
    }
  },
  60_000,
);

test("an item that moved expires, and is deleted by its object", async () => {
  const store = smallStore();
  await store.results([putOp(["a"], "k", {}, { ttl_ms: 1 }), putOp(["b"], "k")]);
  store.resize(0);
  await store.one(putOp(["c"], "k"));
  await store.settle();
  await scheduler.wait(5);
  expect(await store.keys()).toHaveLength(2);
  for (const slot of SLOTS) await runDurableObjectAlarm(store.stub(slot));
  const rows = await Promise.all(SLOTS.map(store.rowsIn));
  expect(rows.flat().map(({ namespace }) => namespace)).not.toContain("a.");
});

test("an object that is busy divides, unless it has one namespace", async () => {
  const [busy, single] = [smallStore(), smallStore()];
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  for (const store of [busy, single])
    STORE_SIZE.of.set(store.deployment_id, { max_ops_per_s: 0.1 });
  const work = async () => {
    for (let n = 0; n < 4; n++) {
      await busy.one(putOp([`n${n}`], "k"));
      await single.one(putOp(["n"], `k${n}`));
    }
  };
  await work();
  expect(await busy.divisionOf(0)).toBeUndefined();
  now += 11_000;
  await work();
  await busy.settle();
  expect(await busy.divisionOf(0)).toMatchObject({ isDone: true });
  expect(await single.divisionOf(0)).toBeUndefined();
  expect(await busy.keys()).toHaveLength(4);
});

test("an emptied store stays divided, and nothing is left of a deleted one", async () => {
  const store = smallStore(0);
  await store.results(Array.from({ length: 20 }, (_, n) => putOp([`n${n}`], "k", {})));
  await store.settle();
  expect(await store.keys()).toHaveLength(20);
  await emptyStoreOf(env, store.deployment_id);
  expect(await store.keys()).toEqual([]);
  expect((await Promise.all(SLOTS.map(store.rowsIn))).flat()).toEqual([]);
  await store.one(putOp(["n1"], "again"));
  expect(await store.keys()).toEqual(["n1/again"]);
  expect(await store.rowsIn(0)).toEqual([]);
  await store.settle();

  for (const _ of [1, 2]) expect(await deleteStoreOf(env, store.deployment_id)).toBe(true);
  const left = await Promise.all(
    SLOTS.map((slot) =>
      runInDurableObject(store.stub(slot), async (_, { storage }) => [
        ...[isMigrated(storage), storage.kv.get("division"), await storage.getAlarm()],
      ]),
    ),
  );
  expect(left).toEqual(SLOTS.map(() => [false, undefined, null]));
}, 60_000);
