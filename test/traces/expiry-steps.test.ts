import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { isBeingExported } from "../../src/exports/rows.ts";
import { consumeTraceExpiry, sweepExpiredTraces } from "../../src/traces/deletion/expiry.ts";
import { deleteLinksOfTraces } from "../../src/traces/links/share-links.ts";
import { deleteTraces } from "../../src/traces/storage/deletion.ts";
import { Leftovers } from "../../src/traces/storage/leftovers.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { withEmptyTables } from "../support/own-tables.ts";
import { api } from "../support/workspace.ts";
import {
  dayAt,
  daysAgo,
  expire,
  isStored,
  LATER_MS,
  rows,
  scene,
  send,
  step,
  stored,
} from "./support/expiry.ts";
import { locationsOf } from "./support/locations.ts";
import { catalogue, wireRun } from "./support/runs.ts";

/** Fails a call of D1, or of an object after it has worked. */
function crashing(at: number) {
  let calls = 0;
  const crash = () => {
    if (calls++ === at) throw new Error("crash");
  };
  const wrap = <T extends object>(
    target: T,
    call: (name: string, work: () => unknown) => unknown,
  ) =>
    new Proxy(target, {
      get: (of, name) => {
        const value = Reflect.get(of, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => call(String(name), () => Reflect.apply(value, of, args));
      },
    });
  const DB = wrap(env.DB, (_, work) => {
    crash();
    return work();
  });
  const objects = <T extends object>(namespace: T) =>
    wrap(namespace, (_, find) =>
      wrap(find() as object, async (__, work) => {
        const result = await work();
        crash();
        return result;
      }),
    );
  const [PARTITIONS, LOCATIONS] = [objects(env.PARTITIONS), objects(env.LOCATIONS)];
  return { env: { ...env, DB, PARTITIONS, LOCATIONS } as Env, hasCrashed: () => calls > at };
}

test("a crash after any call of a step loses and leaves nothing", async () => {
  let [at, hasCrashed] = [0, true];
  for (; hasCrashed; at++) {
    const one = await scene();
    const [whole, mixed] = [daysAgo(21), daysAgo(20)];
    const big = { outputs: { big: "x".repeat(300_000) } };
    const gone = wireRun(one.name, { ...big, id: crypto.randomUUID() }, { at: whole });
    const short = wireRun(one.name, big, { at: mixed });
    const kept = wireRun(one.name, { trace_tier: "longlived" }, { at: mixed });
    await send(one, gone, short, kept);
    const faulty = crashing(at);
    for (const ms of [0, LATER_MS, 2 * LATER_MS]) {
      await step(one, new Date(Date.now() + ms), faulty.env).catch(() => undefined);
    }
    hasCrashed = faulty.hasCrashed();
    for (const ms of [LATER_MS, 3 * LATER_MS]) await step(one, new Date(Date.now() + ms));
    expect(await stored(one, gone, short, kept)).toEqual([false, false, true]);
    const { objects } = await env.ARTIFACTS.list({ prefix: `runs/${one.project_id}/` });
    expect([at, objects.length, (await locationsOf(one.ours.workspace_id)).length]).toEqual([
      at,
      0,
      0,
    ]);
    expect((await catalogue(one.project_id)).results).toMatchObject([
      { day: dayAt(mixed), rows: 1 },
    ]);
  }
  expect(at).toBeGreaterThan(15);
}, 180_000);

test("no parameter for the traces of a full partition exceeds the 2 MB of a value", async () => {
  const one = await scene();
  const run = wireRun(one.name, {}, { at: daysAgo(20) });
  await send(one, run);
  const path = `/runs/${run.id}/share`;
  expect((await api(path, { key: one.ours.admin, method: "PUT" })).status).toBe(200);
  const trace_ids = [...Array.from({ length: 60_000 }, () => crypto.randomUUID()), run.id];
  let longest = 0;
  const measure = <T extends unknown[]>(values: T): T => {
    longest = Math.max(longest, ...values.map((value) => String(value).length));
    return values;
  };
  const DB = {
    prepare: (sql: string) => ({
      bind: (...values: unknown[]) => env.DB.prepare(sql).bind(...measure(values)),
    }),
  };
  const project_ids = [one.project_id];
  const measured = { ...env, DB } as unknown as Env;
  await deleteLinksOfTraces(measured, one.ours.workspace_id, { project_ids, trace_ids });
  expect(await rows("trace_shares", one)).toBe(0);

  const day = dayAt(daysAgo(20));
  const stub = env.PARTITIONS.getByName(`${one.project_id}/${day}/0`);
  const counts = await runInDurableObject(stub, (_, { storage }) => {
    const exec = (sql: string, ...values: SqlStorageValue[]) =>
      storage.sql.exec(sql, ...measure(values));
    const sql = { exec } as unknown as SqlStorage;
    const leftovers = new Leftovers(sql, { storedIds: () => [], ofTrace: () => [] });
    leftovers.add("payloads", trace_ids);
    const { runs } = new PartitionStore(storage);
    const deleted = deleteTraces(sql, { day, trace_ids }, { runs, leftovers });
    return [deleted.length, leftovers.list("payloads", 100_000).length];
  });
  expect(counts).toEqual([1, trace_ids.length]);
  expect(longest).toBeGreaterThan(100_000);
  expect(longest).toBeLessThan(2_000_000);
});

describe("the sweep", () => {
  /** Counts the statements and rows of D1. */
  function counted() {
    const calls: { sql: string; read: number; written: number }[] = [];
    const DB = new Proxy(env.DB, {
      get: (db, name) =>
        name === "prepare" ? (sql: string) => statement(sql) : Reflect.get(db, name),
    });
    const statement = (sql: string) => {
      const wrap = (inner: D1PreparedStatement): object => ({
        bind: (...values: unknown[]) => wrap(inner.bind(...values)),
        ...Object.fromEntries(
          ["all", "run"].map((name) => [name, async () => record(sql, await inner.run())]),
        ),
        raw: async () => {
          const result = record(sql, await inner.run());
          return result.results.map((row) => Object.values(row as object));
        },
      });
      return wrap(env.DB.prepare(sql));
    };
    const record = (sql: string, result: D1Result) => {
      calls.push({ sql, read: result.meta.rows_read, written: result.meta.rows_written });
      return result;
    };
    return { calls, env: { ...env, DB } as Env };
  }

  test("takes one statement, and reads no partition, when nothing has to expire", async () => {
    const one = await scene();
    const days = [...Array.from({ length: 15 }, (_, n) => n), 20, 100, 399];
    const runs = days.map((n) =>
      wireRun(one.name, { trace_tier: "longlived" }, { at: daysAgo(n) }),
    );
    const sweep = async () => {
      const { calls, env: watched } = counted();
      await sweepExpiredTraces(watched, new Date(), isBeingExported);
      return calls;
    };
    await withEmptyTables(["partitions"], async () => {
      const [empty] = await sweep();
      await send(one, ...runs);
      await expire(one);
      expect(await rows("partitions", one)).toBe(days.length);
      expect(await sweep()).toEqual([{ ...empty, written: 0 }]);
    });
  });

  test("names a due partition once in two minutes", async () => {
    const one = await scene();
    const sent = async (ms: number) => {
      const now = new Date(Date.now() + ms);
      await sweepExpiredTraces(env, now, isBeingExported);
      const [row] = (await catalogue(one.project_id)).results as { expiry_sent_at?: string }[];
      return row?.expiry_sent_at === now.toISOString();
    };
    // A sweep names a hundred partitions, and other tests leave more.
    await withEmptyTables(["partitions"], async () => {
      await send(one, wireRun(one.name, {}, { at: daysAgo(20) }));
      expect([await sent(0), await sent(60_000)]).toEqual([true, false]);
    });
  });

  test.each([
    ["SHORTLIVED_DAYS", "0", true],
    ["SHORTLIVED_DAYS", "00", true],
    ["SHORTLIVED_DAYS", "40", true],
    ["LONGLIVED_DAYS", "10", false],
    ["SHORTLIVED_DAYS", "", false],
  ])("with %s = %s keeps a short-lived trace of 20 days: %s", async (name, days, isKept) => {
    const one = await scene();
    const run = wireRun(one.name, {}, { at: daysAgo(20) });
    await send(one, run);
    const configured = { ...env, [name]: days } as Env;
    for (const { day, slot } of (await catalogue(one.project_id)).results) {
      await consumeTraceExpiry(
        configured,
        { project_id: one.project_id, day, slot },
        isBeingExported,
      );
    }
    expect(await isStored(one, run)).toBe(isKept);
  });

  test.each([
    { SHORTLIVED_DAYS: "two" },
    { LONGLIVED_DAYS: "-1" },
    { LONGLIVED_DAYS: "1.5" },
    { LONGLIVED_DAYS: "40000" },
    { DEFAULT_TRACE_TIER: "short" },
  ])("deletes nothing with %j", async (fields) => {
    const [name = ""] = Object.keys(fields);
    await expect(
      sweepExpiredTraces({ ...env, ...fields } as Env, new Date(), isBeingExported),
    ).rejects.toThrow(name);
  });
});
