import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { parseStoreOps } from "../../../src/agent-server/store/boundary.ts";
import { applyOps } from "../../../src/agent-server/store/operations.ts";
import { deleteStoreOf } from "../../../src/agent-server/store/service.ts";
import { SWEEP_MS } from "../../../src/agent-server/store/storage/limits.ts";
import type { StoredItem, StoreOp } from "../../../src/isolate/store-contract.ts";
import { ISOLATE_BUDGET } from "../../../src/shared/work/memory-budget.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Json = Record<string, unknown>;
type Item = { namespace: string[]; key: string; value: Json; score?: number } & Record<
  string,
  unknown
>;

let owner: TestWorkspace;
beforeAll(async () => {
  owner = await workspace();
});

/** Creates a deployment. Returns calls of its store as the SDK sends them. */
async function agent(store?: Json) {
  const config = store === undefined ? {} : { store };
  const { deployment_id } = await testDeployment(owner.workspace_id, config);
  const call = async (method: string, path: string, json?: unknown) => {
    const url = `/agents/${deployment_id}${path}`;
    const response = await api(url, {
      key: owner.admin,
      method,
      ...(json !== undefined && { json }),
    });
    return { status: response.status, text: await response.text() };
  };
  const post = async <T>(path: string, json: unknown) => {
    const { status, text } = await call("POST", path, json);
    expect([status, text]).toEqual([200, expect.any(String)]);
    return JSON.parse(text) as T;
  };
  const put = (namespace: string[], key: string, value: Json, more: Json = {}) =>
    call("PUT", "/store/items", { namespace, key, value, ...more });
  const get = async (namespace: string[], key: string, more = "") => {
    const { status, text } = await call(
      "GET",
      `/store/items?namespace=${namespace.join(".")}&key=${encodeURIComponent(key)}${more}`,
    );
    expect(status).toBe(200);
    return JSON.parse(text) as Item | null;
  };
  const search = async (namespace_prefix: string[], more: Json = {}) =>
    (await post<{ items: Item[] }>("/store/items/search", { namespace_prefix, ...more })).items;
  const keys = async (namespace_prefix: string[], more: Json = {}) =>
    (await search(namespace_prefix, more)).map(({ key }) => key);
  const namespaces = async (body: Json = {}) =>
    (await post<{ namespaces: string[][] }>("/store/namespaces", body)).namespaces;
  /** Runs the fixture graph `stores`: `calls` in parallel, then `later` in a subgraph. */
  const run = (calls: unknown[], later: unknown[] = [], assistant_id = "stores") =>
    post<{ answers: unknown[]; after: unknown[] }>("/runs/wait", {
      assistant_id,
      input: { calls, later },
    });
  const object = () => env.STORES.getByName(deployment_id);
  return { deployment_id, call, put, get, search, keys, namespaces, run, object };
}

describe("items", () => {
  test("an item is put, got, replaced and deleted", async () => {
    const { put, get, call } = await agent();
    expect(await put(["users", "ada"], "likes", { tea: true })).toEqual({ status: 204, text: "" });
    const first = await get(["users", "ada"], "likes");
    expect(first).toEqual({
      namespace: ["users", "ada"],
      key: "likes",
      value: { tea: true },
      created_at: expect.stringMatching(/Z$/),
      updated_at: first?.created_at,
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await put(["users", "ada"], "likes", { tea: false });
    const second = await get(["users", "ada"], "likes");
    expect(second).toMatchObject({ value: { tea: false }, created_at: first?.created_at });
    expect(String(second?.updated_at) > String(first?.updated_at)).toBe(true);
    const deletion = { namespace: ["users", "ada"], key: "likes" };
    for (const _ of [1, 2]) {
      expect(await call("DELETE", "/store/items", deletion)).toEqual({ status: 204, text: "" });
    }
    expect(await get(["users", "ada"], "likes")).toBeNull();
  });

  test.each(["stores", "stores_plainly"])(
    "a value that cannot be sent fails alone among the writes of %s",
    async (graph_id) => {
      const { run, keys } = await agent();
      const calls = ["circular", { text: "kept" }].map((value, n) => [
        "put",
        ["a"],
        `k${n}`,
        value,
      ]);
      const { answers } = await run(calls, [], graph_id);
      expect(answers).toEqual([expect.stringContaining("refers back to itself"), null]);
      expect(await keys(["a"])).toEqual(["k1"]);
    },
  );

  test("an item survives the eviction of its object", async () => {
    const { put, get, object } = await agent();
    await put(["a"], "k", { text: "\u2028 \u{1f600}" });
    await evictDurableObject(object());
    expect(await get(["a"], "k")).toMatchObject({ value: { text: "\u2028 \u{1f600}" } });
  });

  test.each([
    ["a missing namespace", { key: "k", value: {} }, 400, "Namespace is required"],
    ["an empty namespace", { namespace: [], key: "k", value: {} }, 400, "Namespace is required"],
    [
      "an empty label",
      { namespace: ["a", ""], key: "k", value: {} },
      422,
      "cannot be empty or contain periods",
    ],
    [
      "a label with a period",
      { namespace: ["a.b"], key: "k", value: {} },
      422,
      "cannot be empty or contain periods",
    ],
    [
      'the reserved label "langgraph"',
      { namespace: ["langgraph"], key: "k", value: {} },
      422,
      "langgraph",
    ],
    [
      "a label with a lone surrogate",
      { namespace: ["\ud800"], key: "k", value: {} },
      422,
      "valid Unicode",
    ],
    [
      "more than 64 labels",
      { namespace: Array(65).fill("a"), key: "k", value: {} },
      422,
      "at most 64 labels",
    ],
    ["an empty key", { namespace: ["a"], key: "", value: {} }, 422, "key: cannot be empty"],
    [
      "a key that is too long",
      { namespace: ["a"], key: "k".repeat(3000), value: {} },
      422,
      "key: must have at most",
    ],
    ["a key that is a number", { namespace: ["a"], key: 1, value: {} }, 422, "body.key"],
    ["a value that is a list", { namespace: ["a"], key: "k", value: [] }, 422, "body.value"],
    ["a value of null", { namespace: ["a"], key: "k", value: null }, 422, "body.value"],
    ["a missing value", { namespace: ["a"], key: "k" }, 422, "body.value"],
    ["a ttl of zero", { namespace: ["a"], key: "k", value: {}, ttl: 0 }, 422, "body.ttl"],
    ["a ttl that is too large", { namespace: ["a"], key: "k", value: {}, ttl: 1e300 }, 422, "ttl"],
    [
      "a value that is too large",
      { namespace: ["a"], key: "k", value: { x: "x".repeat(2_000_000) } },
      413,
      "at most 1900000 bytes",
    ],
  ])("put is refused: %s", async (_, body, status, text) => {
    const { call } = await agent();
    const answer = await call("PUT", "/store/items", body);
    expect(answer).toEqual({ status, text: expect.stringContaining(text) });
  });

  test('delete is refused in the reserved namespace "langgraph" too', async () => {
    const { call } = await agent();
    const answer = await call("DELETE", "/store/items", {
      namespace: ["langgraph", "a"],
      key: "k",
    });
    expect(answer).toEqual({ status: 422, text: expect.stringContaining("langgraph") });
  });

  test("an item of nearly two megabytes is stored, and searches fail when the result is too large", async () => {
    const { put, get, call, search } = await agent();
    const value = { x: "x".repeat(1_899_000) };
    for (let n = 0; n < 14; n++) expect((await put(["big"], `k${n}`, value)).status).toBe(204);
    expect((await get(["big"], "k13"))?.value).toEqual(value);
    expect(await search(["big"], { limit: 12 })).toHaveLength(12);
    const all = { namespace_prefix: ["big"], limit: 14 };
    expect(await call("POST", "/store/items/search", all)).toEqual({
      status: 413,
      text: expect.stringContaining("use a smaller limit"),
    });
  });

  test("an answer counts two bytes a character for values outside of Latin-1", async () => {
    const { put, call } = await agent();
    const value = { x: `${"x".repeat(1_890_000)}\u{1f600}` };
    for (let n = 0; n < 10; n++) expect((await put(["big"], `k${n}`, value)).status).toBe(204);
    const search = (limit: number) =>
      call("POST", "/store/items/search", { namespace_prefix: ["big"], limit });
    const found = await search(6);
    expect(found.status).toBe(200);
    expect(JSON.parse(found.text).items).toHaveLength(6);
    expect(await search(10)).toEqual({
      status: 413,
      text: expect.stringContaining("limit: the response has more than 25165824 bytes"),
    });
  }, 60_000);

  test("large answers wait for the memory of the isolate, and small ones do not", async () => {
    const { put, get, search, namespaces } = await agent();
    await put(["small"], "k", {});
    await put(["large"], "k", { x: "x".repeat(300_000) });
    for (let n = 0; n < 4; n++) await put(["some", `${n}`], "k", { x: "x".repeat(100_000) });
    const end = Promise.withResolvers<void>();
    const held = [8, 9].map((mib) =>
      ISOLATE_BUDGET.hold(async (reserve) => {
        await reserve(mib * 1024 * 1024);
        await end.promise;
      }),
    );
    const ended: string[] = [];
    const large = get(["large"], "k").then(() => ended.push("get"));
    const some = search(["some"]).then((items) => ended.push(`search ${items.length}`));
    expect(await get(["small"], "k")).toMatchObject({ value: {} });
    expect(await search(["some"], { limit: 2 })).toHaveLength(2);
    expect(await namespaces()).toHaveLength(6);
    await scheduler.wait(50);
    expect(ended).toEqual([]);
    end.resolve();
    await Promise.all([...held, large, some]);
    expect(ended.sort()).toEqual(["get", "search 4"]);
  });

  test("a batch counts two bytes a character for values outside of Latin-1, and its names", () => {
    const batch = (length: number, name: string, characters: number) =>
      parseStoreOps(
        Array.from({ length }, () => ({
          ...{ op: "put", namespace: [name], key: "k", vectors: [], ttl_ms: null },
          value: JSON.stringify({ x: `${"x".repeat(characters)}\u{1f600}` }),
        })),
      );
    const refused = { ok: false, refusal: { message: expect.stringContaining("send smaller") } };
    expect(batch(8, "a", 1_800_000)).toMatchObject({ ok: true });
    expect(batch(10, "a", 1_800_000)).toMatchObject(refused);
    expect(batch(1000, "a", 10_000)).toMatchObject({ ok: true });
    expect(batch(1000, "n".repeat(2000), 14_000)).toMatchObject(refused);
  });

  test("a batch counts the filters of its searches, also one that all of them share", () => {
    const filter = { $or: Array.from({ length: 2000 }, () => ({ a: {} })) };
    const searches = (count: number) =>
      Array.from({ length: count }, () => ({
        ...{ op: "search", prefix: [], filter, vector: null, refresh: false, limit: 1, offset: 0 },
      }));
    expect(parseStoreOps(searches(50))).toMatchObject({ ok: true });
    const refused = { ok: false, refusal: { message: expect.stringContaining("send smaller") } };
    expect(parseStoreOps(searches(150))).toMatchObject(refused);
  });

  test("a batch of lists is refused when its namespaces are larger than a message", async () => {
    const { deployment_id } = await agent();
    const apply = (ops: StoreOp[]) => applyOps({ env, deployment_id, filters: null }, ops);
    const puts = Array.from({ length: 100 }, (_, n) => ({
      ...{ op: "put" as const, namespace: [`${n}`.padEnd(2000, "x")], key: "k", value: "{}" },
      ...{ vectors: [], ttl_ms: null },
    }));
    expect(await apply(puts)).toMatchObject({ ok: true });
    const page = { conditions: [], max_depth: null, limit: 1000, offset: 0 };
    const lists = Array.from({ length: 200 }, () => ({ op: "namespaces" as const, ...page }));
    expect(await apply(lists.slice(0, 50))).toMatchObject({ ok: true });
    expect(await apply(lists)).toMatchObject({ ok: false, refusal: { code: "too_large" } });
  });

  test("answers have the values as they are stored, and parse none", async () => {
    const { deployment_id, call } = await agent();
    const value =
      '{ "n": 12345678901234567890, "e":1.0e2,"text":"\\u2028\u2028 \u{1f600} \\ud800","__proto__":{"a":[[],{}]}}';
    const name = { namespace: ["a", "\u00fc"], key: 'k"\u{1f600}' };
    const put = { op: "put" as const, ...name, value, vectors: [], ttl_ms: null };
    const store = { env, deployment_id, filters: null };
    const answer = await applyOps(store, [put, { op: "get", ...name, refresh: false }]);
    const stored = answer.ok ? (answer.results[1] as StoredItem) : null;
    const at = new Date(stored?.created_at ?? 0).toISOString();
    const item = `{"namespace":["a","\u00fc"],"key":"k\\"\u{1f600}","value":${value},"created_at":"${at}","updated_at":"${at}"}`;
    const parse = vi.spyOn(JSON, "parse");
    const query = `namespace=a&namespace=%C3%BC&key=${encodeURIComponent(name.key)}`;
    expect(await call("GET", `/store/items?${query}`)).toEqual({ status: 200, text: item });
    const found = await call("POST", "/store/items/search", { namespace_prefix: ["a"] });
    expect(found).toEqual({ status: 200, text: `{"items":[${item}]}` });
    const texts = parse.mock.calls.map(([text]) => text);
    parse.mockRestore();
    expect(texts.filter((text) => text.includes("12345678901234567890"))).toEqual([]);
    const missing = await call("GET", "/store/items?namespace=a&key=none");
    expect(missing).toEqual({ status: 200, text: "null" });
  });

  test("a read needs a namespace and a key", async () => {
    const { call } = await agent();
    const missing = await call("GET", "/store/items?key=a");
    expect(missing).toEqual({ status: 400, text: "Namespace is required" });
    expect((await call("GET", "/store/items?namespace=a")).status).toBe(422);
    expect((await call("GET", "/store/items?namespace=a..b&key=k")).status).toBe(422);
  });

  test("a deployment cannot read the items of another", async () => {
    const [ours, theirs] = [await agent(), await agent()];
    await ours.put(["a"], "k", {});
    expect(await theirs.get(["a"], "k")).toBeNull();
    expect(await theirs.search([])).toEqual([]);
  });

  test("deleting a store drops its tables", async () => {
    const ours = await agent();
    await ours.put(["a"], "k", {});
    await deleteStoreOf(env, ours.deployment_id);
    expect(await ours.get(["a"], "k")).toBeNull();
    const kept = await runInDurableObject(ours.object(), (_, { storage }) => [
      ...storage.sql.exec("SELECT name FROM sqlite_master WHERE name IN ('items', 'vectors')"),
    ]);
    expect(kept).toEqual([]);
  });
});

describe("search", () => {
  test("matches a prefix of whole labels, newest change first, in pages", async () => {
    const { put, keys } = await agent();
    await put(["a", "b"], "1", {});
    await put(["a", "bc"], "2", {});
    await put(["a", "b", "c"], "3", {});
    await put(["ab"], "4", {});
    await put(["a", "b"], "1", { again: true });
    expect(await keys(["a", "b"])).toEqual(["1", "3"]);
    expect(await keys(["a"])).toEqual(["1", "3", "2"]);
    expect(await keys([])).toEqual(["1", "4", "3", "2"]);
    expect(await keys([], { limit: 2, offset: 1 })).toEqual(["4", "3"]);
    expect(await keys([], { limit: 2, offset: 4 })).toEqual([]);
    expect(await keys(["nothing"])).toEqual([]);
  });

  test("filters by fields and operators, before it pages", async () => {
    const { put, keys, call } = await agent();
    for (let n = 0; n < 20; n++) {
      await put(["n"], `k${n}`, { n, odd: n % 2 === 1, at: { deep: { n } } });
    }
    expect(await keys(["n"], { filter: { odd: true, n: { $lt: 6 } } })).toEqual(["k5", "k3", "k1"]);
    expect(await keys(["n"], { filter: { odd: true }, limit: 2, offset: 3 })).toEqual([
      "k13",
      "k11",
    ]);
    expect(await keys(["n"], { filter: { at: { deep: { n: { $gte: 18 } } } } })).toEqual([
      "k19",
      "k18",
    ]);
    expect(await keys(["n"], { filter: { n: { $in: [3, 4] } } })).toEqual(["k4", "k3"]);
    const odd = { namespace_prefix: ["n"], filter: { n: { $regex: "x" } } };
    expect(await call("POST", "/store/items/search", odd)).toEqual({
      status: 422,
      text: expect.stringContaining('filter.n: has no operator "$regex"'),
    });
  });

  test("ignores a query where no embedding is configured", async () => {
    const { put, search } = await agent();
    await put(["a"], "k", { text: "cat" });
    const [item] = await search(["a"], { query: "cat" });
    expect(item).toMatchObject({ key: "k" });
    expect(item).not.toHaveProperty("score");
  });
});

describe("namespaces", () => {
  test("are listed in order, by prefix, suffix and depth, with wildcards", async () => {
    const { put, namespaces } = await agent();
    const all = [["b"], ["users", "ada", "v1"], ["users", "ada", "v2"], ["users", "bob", "v1"]];
    for (const namespace of all) {
      await put(namespace, "1", {});
      await put(namespace, "2", {});
    }
    expect(await namespaces()).toEqual(all);
    expect(await namespaces({ prefix: ["users", "ada"] })).toEqual(all.slice(1, 3));
    expect(await namespaces({ prefix: ["user"] })).toEqual([]);
    expect(await namespaces({ suffix: ["v1"] })).toEqual([all[1], all[3]]);
    expect(await namespaces({ prefix: ["users", "*", "v1"] })).toEqual([all[1], all[3]]);
    expect(await namespaces({ prefix: ["*", "bob"] })).toEqual([all[3]]);
    expect(await namespaces({ suffix: ["ada", "*"], prefix: ["users"] })).toEqual(all.slice(1, 3));
    expect(await namespaces({ max_depth: 2 })).toEqual([["b"], ["users", "ada"], ["users", "bob"]]);
    expect(await namespaces({ max_depth: 1, limit: 1, offset: 1 })).toEqual([["users"]]);
  });
});

describe("time to live", () => {
  test("an expired item is hidden at once and deleted by the alarm", async () => {
    const { put, get, search, namespaces, object } = await agent();
    await put(["a"], "short", {}, { ttl: 0.001 });
    await put(["a"], "long", {}, { ttl: 60 });
    await put(["b"], "short", {}, { ttl: 0.001 });
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await get(["a"], "short")).toBeNull();
    expect(await search([])).toHaveLength(1);
    expect(await namespaces()).toEqual([["a"]]);
    const count = () =>
      runInDurableObject(object(), (_, { storage }) => [
        ...storage.sql.exec("SELECT key FROM items"),
      ]);
    expect(await count()).toHaveLength(3);
    expect(await runDurableObjectAlarm(object())).toBe(true);
    expect(await count()).toEqual([{ key: "long" }]);
    // The alarm is set for the next expiry.
    expect(await runDurableObjectAlarm(object())).toBe(true);
  });

  test("the alarm is set for the first expiry, also after a restart and behind a long ttl", async () => {
    const { put, object } = await agent();
    const alarmAfterEnd = () =>
      runInDurableObject(object(), async (_, { storage }) => {
        const { end } = storage.sql.exec("SELECT min(expires_at) AS end FROM items").one();
        return Number(await storage.getAlarm()) - Number(end);
      });
    await put(["a"], "long", {}, { ttl: 600 });
    expect(await alarmAfterEnd()).toBe(SWEEP_MS);
    await put(["a"], "short", {}, { ttl: 10 });
    expect(await alarmAfterEnd()).toBe(SWEEP_MS);
    await evictDurableObject(object());
    await put(["a"], "later", {}, { ttl: 20 });
    expect(await alarmAfterEnd()).toBe(SWEEP_MS);
  });

  test("reading refreshes the TTL unless refresh_ttl is false", async () => {
    const { put, get, search, object } = await agent();
    const ends = () =>
      runInDurableObject(object(), (_, { storage }) =>
        Number(storage.sql.exec("SELECT expires_at AS at FROM items").one().at),
      );
    await put(["a"], "k", {}, { ttl: 60 });
    const rewind = () =>
      runInDurableObject(object(), (_, { storage }) => {
        storage.sql.exec("UPDATE items SET expires_at = expires_at - 600000");
      });
    const first = await ends();
    await rewind();
    await get(["a"], "k", "&refresh_ttl=false");
    await search(["a"], { refresh_ttl: false });
    expect(await ends()).toBe(first - 600_000);
    await get(["a"], "k");
    expect(await ends()).toBeGreaterThanOrEqual(first);
    await rewind();
    await search(["a"]);
    expect(await ends()).toBeGreaterThanOrEqual(first);
  });

  test("the default TTL applies when a put has none, and ttl: null never expires", async () => {
    const ttl = { default_ttl: 10, refresh_on_read: false };
    const { put, get, object } = await agent({ ttl });
    await put(["a"], "default", {});
    await put(["a"], "ever", {}, { ttl: null });
    const rows = () =>
      runInDurableObject(object(), (_, { storage }) => [
        ...storage.sql.exec(
          "SELECT key, ttl_ms, expires_at - updated_at AS left FROM items ORDER BY key",
        ),
      ]);
    const before = await rows();
    expect(before).toEqual([
      { key: "default", ttl_ms: 600_000, left: 600_000 },
      { key: "ever", ttl_ms: null, left: null },
    ]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await get(["a"], "default");
    expect(await rows()).toEqual(before);
  });
});

describe("semantic search", () => {
  const index = { dims: 8, embed: "./src/embed.ts:embed" };

  async function pets() {
    const made = await agent({ index });
    await made.put(["docs"], "cat", { text: "a cat and a kitten" });
    await made.put(["docs"], "dog", { text: "a dog in the rain" });
    await made.put(["docs"], "pizza", { text: "pizza", tags: ["food", "a cat ate it"] });
    await made.put(["other"], "cat", { text: "cat" });
    return made;
  }

  test("replacing an expired item deletes its vectors", async () => {
    const { put, object } = await agent({ index });
    await put(["docs"], "cat", { text: "a cat" }, { ttl: 60 });
    const sql = (query: string) =>
      runInDurableObject(object(), (_, { storage }) => storage.sql.exec(query).toArray());
    await sql("UPDATE items SET expires_at = 1");
    await put(["docs"], "cat", { text: "another cat" }, { ttl: 60 });
    const [item] = await sql("SELECT id AS item_id FROM items");
    expect(await sql("SELECT DISTINCT item_id FROM vectors")).toEqual([item]);
  });

  test("finds the nearest first, exactly, with scores, filters and pages", async () => {
    const { search } = await pets();
    const found = await search(["docs"], { query: "animal" });
    expect(found.map(({ key }) => key)).toEqual(["pizza", "cat", "dog"]);
    // The angle between (2, .1) and (1, .1), the embeddings of the two texts.
    expect(found[1]?.score).toBeCloseTo(2.01 / Math.sqrt(4.01 * 1.01), 5);
    expect(await search(["docs"], { query: "animal", limit: 1, offset: 1 })).toEqual([found[1]]);
    const filter = { text: { $ne: "pizza" } };
    const kept = await search(["docs"], { query: "animal", filter });
    expect(kept.map(({ key }) => key)).toEqual(["cat", "dog"]);
  });

  test("a put chooses the indexed fields, or none with index: false", async () => {
    const { put, search } = await pets();
    await put(["docs"], "hidden", { text: "cat" }, { index: false });
    await put(["docs"], "titled", { text: "bank", title: "song" }, { index: ["title"] });
    const keys = async (query: string) => (await search(["docs"], { query })).map(({ key }) => key);
    expect(await keys("animal")).not.toContain("hidden");
    expect((await keys("music"))[0]).toBe("titled");
    const [first] = await search(["docs"], { query: "money", limit: 1 });
    expect(first?.score).toBeLessThan(0.5);
    await put(["docs"], "titled", { text: "bank" });
    expect((await keys("money"))[0]).toBe("titled");
  });

  test("an error of the embedding function is a 503, and nothing is stored", async () => {
    const { put, get, call } = await agent({ index });
    expect(await put(["docs"], "k", { text: "unembeddable" })).toEqual({
      status: 503,
      text: "store.index.embed: the model has no word for this",
    });
    expect(await get(["docs"], "k")).toBeNull();
    const query = { namespace_prefix: ["docs"], query: "unembeddable" };
    expect((await call("POST", "/store/items/search", query)).status).toBe(503);
  });
});

describe("inside a graph", () => {
  test("a graph and the API read each other's writes", async () => {
    const { run, put, get, search } = await agent();
    await put(["users"], "ada", { from: "outside" });
    const { answers, after } = await run(
      [
        ["get", ["users"], "ada"],
        ["get", ["users"], "nobody"],
        ["put", ["users"], "bob", { from: "inside", n: 3 }],
      ],
      [
        ["search", ["users"], { filter: { n: { $gt: 2 } } }],
        ["listNamespaces", { maxDepth: 1 }],
        ["delete", ["users"], "ada"],
      ],
    );
    expect(answers).toEqual([
      expect.objectContaining({ key: "ada", value: { from: "outside" } }),
      null,
      null,
    ]);
    expect(after).toEqual([
      [
        {
          namespace: ["users"],
          key: "bob",
          value: { from: "inside", n: 3 },
          createdAt: expect.stringMatching(/Z$/),
          updatedAt: expect.stringMatching(/Z$/),
        },
      ],
      [["users"]],
      null,
    ]);
    expect(await get(["users"], "ada")).toBeNull();
    expect(await search(["users"])).toMatchObject([
      { key: "bob", value: { from: "inside", n: 3 } },
    ]);
  });

  test("an invalid put does not fail the other calls of its batch", async () => {
    const { run } = await agent();
    const { answers } = await run([
      ["put", ["a.b"], "k", {}],
      ["put", ["a"], "k", { x: "x".repeat(2_000_000) }],
      ["put", ["a"], "k", { fine: true }],
    ]);
    expect(answers[0]).toMatch(/InvalidNamespaceError: namespace: .*periods/);
    expect(answers[1]).toMatch(/StoreError: value: .*split it/);
    expect(answers[2]).toBeNull();
  });

  test("an invalid namespace throws LangGraph's InvalidNamespaceError in a graph, and StoreError in a plain agent", async () => {
    const { run } = await agent();
    const calls = [
      ["put", [], "k", {}],
      ["put", ["langgraph"], "k", {}],
      ["get", ["a", ""], "k"],
      ["search", [1]],
      ["listNamespaces", { prefix: ["a.b"] }],
      ["batch", [{ namespace: [""], key: "k" }]],
    ];
    const { answers } = await run(calls);
    for (const answer of answers) expect(answer).toMatch(/^InvalidNamespaceError: /);
    const plain = await run(calls, [], "stores_plainly");
    for (const answer of plain.answers) expect(answer).toMatch(/^StoreError: /);
  });

  test("semantic search leaves out items put with index: false", async () => {
    const { run, search } = await agent({ index: { dims: 8, embed: "./src/embed.ts:embed" } });
    const { after } = await run(
      [
        ["put", ["m"], "cat", { text: "cat" }],
        ["put", ["m"], "soup", { text: "soup" }],
        ["put", ["m"], "hidden", { text: "cat" }, false],
      ],
      [["search", ["m"], { query: "animal" }]],
    );
    expect(after).toEqual([
      [
        expect.objectContaining({ key: "cat", score: expect.closeTo(1, 5) }),
        expect.objectContaining({ key: "soup" }),
      ],
    ]);
    expect((await search(["m"], { query: "food" }))[0]).toMatchObject({ key: "soup" });
  });

  test("the store is available in a conditional edge during a state update", async () => {
    const { call, put } = await agent();
    await put(["ways"], "next", { to: "b" });
    const metadata = { graph_id: "branches" };
    const { thread_id } = JSON.parse((await call("POST", "/threads", { metadata })).text);
    const update = { values: { log: ["x"] }, as_node: "a" };
    const { status } = await call("POST", `/threads/${thread_id}/state`, update);
    expect(status).toBe(200);
    const { text } = await call("GET", `/threads/${thread_id}/state`);
    expect(JSON.parse(text)).toMatchObject({ next: ["b"], values: { log: ["x"] } });
  });

  test("the store is available in a plain function", async () => {
    const { run, get } = await agent();
    await run([["put", ["plain"], "k", { a: 1 }]], [], "stores_plainly");
    expect(await get(["plain"], "k")).toMatchObject({ value: { a: 1 } });
  });
});

describe("access", () => {
  test("viewers read and do not write; other workspaces see nothing", async () => {
    const { deployment_id, put } = await agent();
    await put(["a"], "k", { secret: 1 });
    const path = `/agents/${deployment_id}/store/items`;
    const read = await api(`${path}?namespace=a&key=k`, { key: owner.viewer });
    expect(read.status).toBe(200);
    const json = { namespace: ["a"], key: "k", value: {} };
    expect((await api(path, { key: owner.viewer, method: "PUT", json })).status).toBe(403);
    const stranger = await workspace();
    const refused = await api(`${path}?namespace=a&key=k`, { key: stranger.admin });
    expect(refused.status).toBe(404);
  });
});
