import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { searchThreads } from "../../../src/agent-server/threads/api/threads/thread-service.ts";
import { ThreadSearch } from "../../../src/agent-server/threads/contract/requests/thread-schema.ts";
import { CarriedTraces } from "../../../src/agent-server/threads/object/log/carried-traces.ts";
import {
  inQuarantine,
  LostAloneError,
} from "../../../src/agent-server/threads/object/loop/quarantine.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventuallyTrue } from "../../support/eventually.ts";
import { createLazyTables } from "../../support/thread-tables.ts";
import { hostileRevision, testThread } from "../../support/threads.ts";

const MIB = 1024 * 1024;

type Call = { method: string; args: unknown[]; times?: number; at_once?: boolean };
type Result = { error?: string; count?: number; bytes?: number[]; value?: unknown };

let revision: ReturnType<typeof hostileRevision>;
beforeAll(() => {
  revision = hostileRevision();
});

/** Has the agent make these calls on the host of its run. */
async function attack(calls: Call[]) {
  const thread = await testThread(revision);
  const { results, __error__ } = await thread.wait("hostile", { input: { calls } });
  const stub = env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`);
  const count = (sql: string) =>
    runInDurableObject(stub, (_, { storage }) => {
      createLazyTables(storage.sql);
      return storage.sql.exec<Record<string, number>>(sql).one();
    });
  return { ...thread, results: results as Result[], error: __error__, count };
}

const idOf = (n: number) => `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;

const checkpoint = (n: number, versions: Record<string, number> = {}, values: unknown[] = []) => ({
  op: "checkpoint",
  ns: "",
  checkpoint_id: idOf(n),
  parent_id: null,
  checkpoint: JSON.stringify({ v: 4, id: idOf(n), channel_versions: versions }),
  metadata: JSON.stringify({ n }),
  values,
});

const value = (bytes: number, version = 1) => ({
  channel: "big",
  version,
  type: "bytes",
  data: { $bytes: bytes },
});

/** Values of the wrong type, or that JSON does not have. */
const odd = fc.constantFrom<unknown[]>(
  null,
  7,
  "x",
  [],
  {},
  true,
  { $bytes: 3 },
  { $shared: 40 },
  { $cycle: true },
  { $other: "map" },
  { $other: "date" },
  { $other: "bigint" },
  { $other: "nan" },
  { $list: {}, $times: 9 },
);

const commit = (...ops: unknown[]): Call => ({ method: "commit", args: [ops] });

describe("checkpoints listed by an agent", () => {
  test("250 that name one value of 12 MB are listed by bytes, not all at once", async () => {
    const named = Array.from({ length: 250 }, (_, n) => checkpoint(n, { big: 1 }));
    const list = (query: unknown): Call => ({ method: "listCheckpoints", args: [query] });
    const { results } = await attack([
      commit(checkpoint(0, { big: 1 }, [value(12 * MIB)])),
      commit(...named),
      list({}),
      list({ limit: 1_000_000 }),
      list({ limit: 250, before_id: idOf(3) }),
    ]);
    const pages = results.slice(2);
    expect(pages.map(({ count }) => count)).toEqual([2, 2, 2]);
    for (const { bytes = [] } of pages) {
      expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(31 * MIB);
    }
  }, 60_000);

  test("small ones come 16 at a time, whatever the limit", async () => {
    const { results } = await attack([
      commit(...Array.from({ length: 40 }, (_, n) => checkpoint(n))),
      { method: "listCheckpoints", args: [{ limit: 40 }] },
      { method: "listCheckpoints", args: [{ ns: "", limit: 1 }] },
    ]);
    expect(results.slice(1).map(({ count }) => count)).toEqual([16, 1]);
  });

  test("one that names more values than a message takes is refused", async () => {
    const names = Array.from({ length: 4 }, (_, n) => `c${n}`);
    const versions = Object.fromEntries(names.map((name) => [name, 1]));
    const puts = names.map((channel) =>
      commit(checkpoint(0, {}, [{ ...value(12 * MIB), channel }])),
    );
    const { results } = await attack([
      ...puts,
      commit(checkpoint(1, versions)),
      { method: "readCheckpoint", args: ["", idOf(1)] },
      { method: "listCheckpoints", args: [{}] },
    ]);
    const refusal = { error: expect.stringMatching(/has more than 32505856 bytes/) };
    expect(results.slice(-2)).toEqual([refusal, refusal]);
  }, 60_000);

  test.each([
    ["a limit that is no count", { limit: "all" }],
    ["metadata of shared references", { metadata: { $shared: 40 } }],
    ["metadata with a cycle", { metadata: { a: { $cycle: true } } }],
    ["a namespace of a megabyte", { ns: { $text: MIB } }],
    ["no query at all", 7],
  ])("%s is refused", async (_, query) => {
    const { results } = await attack([{ method: "listCheckpoints", args: [query] }]);
    expect(results[0]?.error).toMatch(/^query/);
  });
});

describe("commits", () => {
  const trace = (op: object = {}) => ({
    op: "trace",
    kind: "post",
    id: idOf(1),
    open: null,
    data: "{}",
    ...op,
  });
  const event = (op: object = {}) => ({ op: "event", event: "custom", data: "{}", ...op });

  test.each([
    ["no list", 7, "must be a list"],
    ["an operation of no kind", [{ op: "drop" }], "ops.0.op"],
    ["more operations than a batch takes", { $list: event(), $times: 70_000 }, "65536 operations"],
    [
      "one operation many times",
      { $list: event({ data: JSON.stringify("x".repeat(MIB)) }), $times: 5000 },
      "33554432 bytes",
    ],
    ["an event with a line break", [event({ event: "custom\ndata: 1" })], "line break"],
    ["event data with a line break", [event({ data: "{}\n\nevent: end" })], "line break"],
    ["an event that is no text", [event({ data: { $bytes: 8 } })], "ops.0.data"],
    ["event data that is no JSON", [event({ event: "messages", data: "{" })], "ops.0.data"],
    ["event data after JSON", [event({ data: '{}},"seq":9' })], "ops.0.data"],
    ["empty event data", [event({ data: "" })], "ops.0.data"],
    [
      "an event of a million lists",
      [event({ data: `[${"[],".repeat(1_000_000)}[]]` })],
      "500000 objects and lists",
    ],
    ["a name of a megabyte", [event({ event: { $text: MIB } })], "ops.0.event"],
    [
      "a value that is no bytes",
      [checkpoint(1, {}, [{ ...value(1), data: [1] }])],
      "values.0.data",
    ],
    ["a value of 25 MB", [checkpoint(1, {}, [value(25 * MIB)])], "25165824 bytes"],
    [
      "a version that is no number",
      [checkpoint(1, {}, [{ ...value(1), version: "1" }])],
      "version",
    ],
    [
      "a version that is NaN",
      [checkpoint(1, {}, [{ ...value(1), version: { $other: "nan" } }])],
      "version",
    ],
    ["a checkpoint that is no JSON", [{ ...checkpoint(1), checkpoint: "{" }], "JSON text"],
    [
      "a checkpoint that nests deep",
      [{ ...checkpoint(1), checkpoint: `{"a":${"[".repeat(900)}${"]".repeat(900)}}` }],
      "JSON text",
    ],
    [
      "a checkpoint larger than a row",
      [{ ...checkpoint(1), metadata: `{"a":"${"x".repeat(2_000_000)}"}` }],
      "ops.0",
    ],
    ["metadata that is a list", [{ ...checkpoint(1), metadata: "[]" }], "ops.0.metadata"],
    [
      "a write with an odd index",
      [
        {
          op: "writes",
          ns: "",
          checkpoint_id: idOf(1),
          writes: [{ ...value(1), task_id: "t", path: "", idx: 0.5 }],
        },
      ],
      "idx",
    ],
    ["a trace of no kind", [trace({ kind: "drop" })], "ops.0.kind"],
    ["a text without a place", [trace({ texts: { inputs: { of: 1 } } })], "ops.0.texts"],
  ])("%s end the run with an error that names it", async (_, ops, problem) => {
    const { error, object, count } = await attack([{ method: "commit", args: [ops] }]);
    expect(error).toMatchObject({
      error: "InvalidCommitError",
      message: expect.stringContaining(problem),
    });
    expect((await object.getThread())?.status).toBe("error");
    expect(await count("SELECT count(*) AS n FROM checkpoints")).toEqual({ n: 0 });
  });

  test("events of little data count their names and rows too", async () => {
    const named = event({ event: "x".repeat(16_000), data: "1" });
    const { error } = await attack([
      { method: "commit", args: [{ $list: named, $times: 2000 }], times: 3 },
    ]);
    expect(error).toMatchObject({
      error: "EventLimitError",
      message: expect.stringMatching(/The run emitted more than \d+ characters of events/),
    });
  });

  test("a text's place is chosen by the thread, never by the isolate", async () => {
    const text = { of: 0, before: "", from: 0, chars: 9, rest: "", part: "value  big 1", x: 1 };
    const { results, error, place } = await attack([
      commit(
        trace({ texts: { inputs: { id: 0, text: '"a text"' } } }),
        trace({ texts: { inputs: text } }),
      ),
      { method: "cancelled", args: [], times: 0 },
    ]);
    expect([error, results]).toEqual([undefined, [{}]]);
    const stub = env.THREADS.getByName(`${place.deployment_id}/${place.thread_id}`);
    const carried = await runInDurableObject(stub, (_, { storage }) =>
      [...new CarriedTraces(storage.sql).after(0)].flatMap(({ texts }) => texts),
    );
    const texts = JSON.stringify(
      carried.flatMap((row) => JSON.parse(row).ops).map((op) => op.texts),
    );
    expect(texts).toContain("a text");
    expect(texts).not.toMatch(/value {2}big|"x"/);
  });

  test("trace runs that are left open are kept up to the limit of a row, and end with their attempt", async () => {
    const opened = (n: number) =>
      trace({ id: idOf(n), open: "x".repeat(16_000), data: JSON.stringify({ id: idOf(n) }) });
    const batch = (from: number) =>
      commit(...Array.from({ length: 200 }, (_, n) => opened(from + n)));
    const { error, results, count } = await attack([batch(1), batch(201), batch(401)]);
    expect([error, results]).toEqual([undefined, [{}, {}, {}]]);
    expect(await count("SELECT count(*) AS n FROM runs WHERE length(trace) > 400000")).toEqual({
      n: 0,
    });
  });

  test("a payload of 10 MB that thousands of rows share is stored once and delivered in part", async () => {
    const shared = { of: 0, before: "", from: 0, chars: Number.MAX_SAFE_INTEGER, rest: "" };
    const first = trace({ texts: { inputs: { id: 0, text: { $text: 10 * MIB } } } });
    const rows = Array.from({ length: 2000 }, () => trace({ texts: { inputs: shared } }));
    const { error, count } = await attack([commit(first, ...rows)]);
    expect(error).toBeUndefined();
    const sum = `SELECT coalesce((SELECT sum(length(data)) FROM parts WHERE name LIKE 'trace %'), 0)
      + coalesce((SELECT sum(length(ops)) FROM trace_outbox), 0) AS bytes`;
    expect((await count(sum)).bytes).toBeLessThanOrEqual(17 * MIB);
  }, 60_000);
});

test.each([
  ["a list that is none", 7],
  ["an operation of no kind", [{ op: "drop" }]],
  [
    "one item many times",
    {
      $list: {
        op: "put",
        namespace: ["a"],
        key: "k",
        value: { $text: MIB },
        vectors: [],
        ttl_ms: null,
      },
      $times: 900,
    },
  ],
  [
    "a value that is no JSON",
    [{ op: "put", namespace: ["a"], key: "k", value: "{", vectors: [], ttl_ms: null }],
  ],
  [
    "a filter of shared references",
    [
      {
        op: "search",
        prefix: [],
        filter: { $shared: 40 },
        vector: null,
        limit: 1,
        offset: 0,
        refresh: false,
      },
    ],
  ],
])("store operations: %s is refused", async (_, ops) => {
  const { results, error } = await attack([
    { method: "store", args: [ops] },
    {
      method: "store",
      args: [
        [
          {
            op: "search",
            prefix: [],
            filter: null,
            vector: null,
            limit: 10,
            offset: 0,
            refresh: false,
          },
        ],
      ],
    },
  ]);
  expect(error).toBeUndefined();
  expect(results[0]).not.toEqual(results[1]);
});

test("other calls take no more than they should", async () => {
  const { results } = await attack([
    { method: "authenticate", args: [{ $text: MIB }] },
    { method: "authenticate", args: [{ $other: "map" }] },
    { method: "readCheckpoint", args: [7, null] },
    { method: "readCheckpoint", args: ["", { $cycle: true }] },
  ]);
  expect(results.map(({ error }) => error)).toEqual([
    expect.stringMatching(/^body/),
    expect.stringMatching(/^body/),
    expect.stringMatching(/^checkpoint/),
    expect.stringMatching(/^checkpoint/),
  ]);
});

describe("a run that loses its isolate", () => {
  test("is retried once, in an isolate that no other run shares", async () => {
    const thread = await testThread(revision);
    expect(await thread.wait("lost", { input: { losses: 0 } })).toMatchObject({ runs: 1 });
    expect(await thread.wait("lost", { input: { losses: 0 } })).toMatchObject({ runs: 2 });
    const again = await thread.create("lost", { input: { losses: 1 } });
    expect(await thread.join(again.run_id)).toMatchObject({ runs: 1 });
    const events = await thread.follow(again.run_id);
    expect(events[1]).toMatchObject({ event: "metadata", data: { attempt: 2 } });
  });

  test("ends with an error when it loses that one too", async () => {
    const thread = await testThread(revision);
    const { run_id } = await thread.create("lost", { input: { losses: 9 } });
    expect((await thread.join(run_id)).__error__).toEqual({
      error: "IsolateLostError",
      message: expect.stringMatching(/in 2 attempts, .* quarantine .* The isolate ended\.$/),
    });
    const events = await thread.follow(run_id);
    expect(events.filter(({ event }) => event === "metadata")).toHaveLength(2);
  });

  test("is not blamed for a loss while another one is in quarantine", async () => {
    const lost = async () => {
      throw new Error("lost");
    };
    const workspace_id = newId();
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      let isOver = false;
      const slow = inQuarantine(workspace_id, "slow", async () => {
        await eventuallyTrue(() => isOver);
        throw new Error("lost");
      });
      vi.setSystemTime(Date.now() + 61_000);
      const quick = inQuarantine(workspace_id, "quick", lost);
      await expect(quick).rejects.not.toBeInstanceOf(LostAloneError);
      isOver = true;
      await expect(slow).rejects.not.toBeInstanceOf(LostAloneError);
      await expect(inQuarantine(workspace_id, "last", lost)).rejects.toBeInstanceOf(LostAloneError);
    } finally {
      vi.useRealTimers();
    }
  });

  test("waits for its turn in quarantine", async () => {
    const order: string[] = [];
    const workspace_id = newId();
    const stay = (name: string) =>
      inQuarantine(workspace_id, name, async () => {
        order.push(name);
        await scheduler.wait(20);
        order.push(`${name} over`);
      });
    await Promise.all([stay("one"), stay("two")]);
    expect(order).toEqual(["one", "one over", "two", "two over"]);
  });
});

test("a history of large states is cut by bytes, and before reads on", async () => {
  const thread = await testThread(revision);
  const blob = "x".repeat(3 * MIB);
  for (let n = 0; n < 4; n++) await thread.wait("hostile", { input: { calls: [], blob } });
  const { revision: active } = await revision;
  const page = async (before_id: string | null) => {
    const call = { ns: "", checkpoint_id: null, limit: 1000, before_id, metadata: null };
    const answer = await thread.object.getHistory(call, active);
    if (!answer.ok) throw new Error(JSON.stringify(answer));
    const states = JSON.parse(answer.value) as { checkpoint: { checkpoint_id: string } }[];
    return {
      characters: answer.value.length,
      ids: states.map((one) => one.checkpoint.checkpoint_id),
    };
  };
  const ids: string[] = [];
  for (let next = await page(null); next.ids.length > 0; next = await page(ids.at(-1) ?? null)) {
    expect(next.characters).toBeLessThan(12 * MIB);
    ids.push(...next.ids);
  }
  const { n } = await runInDurableObject(
    env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`),
    (_, { storage }) =>
      storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM checkpoints").one(),
  );
  expect(new Set(ids).size).toBe(n);
}, 60_000);

test("a search whose values are too much is refused, and large threads are found in smaller ones", async () => {
  const own = hostileRevision();
  const { workspace_id, revision: served } = await own;
  for (let n = 0; n < 3; n++) {
    const thread = await testThread(own);
    await thread.wait("hostile", { input: { calls: [], blob: "x".repeat(8 * MIB) } });
  }
  const ctx = systemContext(workspace_id);
  const search = (body: object) =>
    searchThreads(ctx, served.deployment_id, ThreadSearch.parse(body));
  await expect(search({ limit: 1000 })).rejects.toMatchObject({ code: "too_large" });
  const { rows } = await search({ limit: 2 });
  expect(rows.map((row) => JSON.stringify(row).length > 8 * MIB)).toEqual([true, true]);
  expect((await search({ limit: 1000, select: ["thread_id"] })).rows).toHaveLength(3);
}, 60_000);

test("whatever operations it sends, a thread takes them or refuses, and stays readable", async () => {
  const id = fc.oneof(fc.nat(3).map(idOf), fc.constant(""), fc.constant({ $text: 3000 }), odd);
  const text = fc.oneof(
    fc.constant("{}"),
    fc.constant("{"),
    fc.constant('{"channel_versions":{"c":1}}'),
    odd,
  );
  const bytes = fc.oneof(
    fc.nat(5000).map(($bytes) => ({ $bytes })),
    odd,
  );
  const some = (fields: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record(fields, { noNullPrototype: true });
  const name = fc.oneof(fc.constant("c"), odd);
  const held = fc.array(
    some({
      channel: name,
      version: fc.oneof(fc.nat(3), odd),
      type: name,
      data: bytes,
      task_id: name,
      path: name,
      idx: fc.oneof(fc.integer({ min: -5, max: 5 }), odd),
      part: name,
    }),
    { maxLength: 3 },
  );
  const op = fc.oneof(
    some({
      op: fc.constant("checkpoint"),
      ns: name,
      checkpoint_id: id,
      parent_id: id,
      checkpoint: text,
      metadata: text,
      values: held,
    }),
    some({ op: fc.constant("writes"), ns: name, checkpoint_id: id, writes: held }),
    some({ op: fc.constant("event"), event: fc.oneof(fc.constant("values"), odd), data: text }),
    some({
      op: fc.constant("trace"),
      kind: fc.oneof(fc.constant("post"), odd),
      id,
      open: fc.oneof(fc.constant(null), name),
      data: text,
    }),
    odd,
  );
  const thread = await testThread(revision);
  const [neighbour, ended] = [await testThread(revision), ["success", "error"]];
  await fc.assert(
    fc.asyncProperty(fc.array(op, { maxLength: 5 }), async (ops) => {
      const { run_id } = await thread.create("hostile", { input: { calls: [commit(...ops)] } });
      await thread.join(run_id);
      expect(ended).toContain((await thread.object.getRun(run_id))?.status);
      expect(await thread.object.deleteRun(run_id)).toBe(true);
      expect((await thread.object.getThread())?.status).toMatch(/idle|error/);
    }),
    { seed: 11, numRuns: 60 },
  );
  expect(await neighbour.wait("hostile", { input: { calls: [] } })).toMatchObject({ results: [] });
}, 120_000);
