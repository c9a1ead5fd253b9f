import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { Checkpoints } from "../../../src/agent-server/threads/object/checkpoints/checkpoints.ts";
import type { CopiedTable } from "../../../src/agent-server/threads/object/checkpoints/copy.ts";
import { threadTables } from "../../../src/agent-server/threads/object/log/lazy-tables.ts";
import { Parts } from "../../../src/agent-server/threads/object/log/parts.ts";
import { Segments, VALUE_SEGMENTS } from "../../../src/agent-server/threads/object/log/segments.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { ThreadMethods } from "../../../src/agent-server/threads/object/thread-methods.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { isMigrated } from "../../../src/shared/storage/object-tables.ts";
import { createLazyTables } from "../../support/thread-tables.ts";
import { testThread } from "../../support/threads.ts";

// The cost of a run must depend on its new data, not on the length of the thread.

const RUNS = 10;
const ROLES = ["user", "assistant"] as const;

const talk = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({
    role: ROLES[(from + n) % 2],
    content: `message ${from + n}: ${"words of a sentence ".repeat(8)}`,
  }));

type TestThread = { deployment_id: string; thread_id: string };

function stubOf({ deployment_id, thread_id }: TestThread) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

function inObject<T>(place: TestThread, work: (sql: SqlStorage) => T) {
  return runInDurableObject(stubOf(place), (_thread, { storage }) => {
    createLazyTables(storage.sql);
    return work(storage.sql);
  });
}

function rowsOf(place: TestThread, query: string) {
  return inObject(place, (sql) => sql.exec<Record<string, number>>(query).toArray());
}

/** In all columns of all tables; what waits for ingestion is on its way. */
function keptBytes(sql: SqlStorage): number {
  const columns = sql
    .exec<{ table: string; name: string }>(
      `SELECT tables.name AS "table", columns.name
       FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT GLOB '_cf_*' AND tables.name <> 'trace_outbox'`,
    )
    .toArray();
  return columns.reduce((sum, { table, name }) => {
    const isPart = table === "parts" ? " WHERE name NOT GLOB 'trace *'" : "";
    const length = `coalesce(sum(length(CAST("${name}" AS BLOB))), 0)`;
    return sum + sql.exec<{ n: number }>(`SELECT ${length} AS n FROM "${table}"${isPart}`).one().n;
  }, 0);
}

async function threadOf(messages: number) {
  const thread = await testThread();
  await thread.wait("echo", { input: { messages: talk(messages) } });
  return thread;
}

test.each(["values", "updates"])(
  "a run on a thread of a thousand messages stores at most twice what it does on one of ten (%s)",
  async (stream_mode) => {
    const costOf = async (messages: number) => {
      const { place, wait } = await threadOf(messages);
      const converse = (n: number) =>
        wait("echo", { input: { messages: talk(1, n) }, stream_mode });
      await converse(0);
      const before = await inObject(place, keptBytes);
      for (let n = 1; n <= RUNS; n++) await converse(n);
      return ((await inObject(place, keptBytes)) - before) / RUNS;
    };
    expect(await costOf(1000)).toBeLessThanOrEqual(2 * (await costOf(10)));
  },
);

test("each checkpoint of a long thread has the messages that it had then", async () => {
  const { object, revision, wait } = await threadOf(60);
  for (let n = 0; n < 20; n++) await wait("echo", { input: { messages: talk(1, n) } });
  const call = { ns: "", checkpoint_id: null, before_id: null, metadata: null, limit: 100 };
  const answer = await object.getHistory(call, revision);
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  const states: { values: { messages?: { content: string }[] } }[] = JSON.parse(answer.value);
  const contents = states.map(({ values }) => values.messages?.map(({ content }) => content) ?? []);
  const newest = contents[0] ?? [];
  expect(newest).toHaveLength(60 + 1 + 20 * 2);
  for (const [n, older] of contents.entries()) {
    expect(older).toEqual(newest.slice(0, older.length));
    expect(older.length).toBeLessThanOrEqual(contents[n - 1]?.length ?? newest.length);
  }
  expect(new Set(contents.map(({ length }) => length)).size).toBe(1 + 2 + 20 * 2);
});

test("a reader that reconnects receives the same long values of each step", async () => {
  const { create, join, follow } = await threadOf(60);
  const { run_id } = await create("echo", { input: { messages: talk(1) } });
  await join(run_id);
  const events = (await follow(run_id)).filter(({ event }) => event === "values");
  const lengths = events.map(({ data }) => (data as { messages: unknown[] }).messages.length);
  expect(lengths).toEqual([62, 63]);
  const [, last] = events;
  expect(await follow(run_id, events[0]?.id)).toEqual([last]);
});

test("a message that is changed or taken out is stored as it is then", async () => {
  const { object, revision, wait } = await threadOf(60);
  const before = await wait("echo", { input: { messages: talk(1) } });
  const changed = { ...before.messages[5], content: "said better" };
  const removed = { type: "remove", id: before.messages[7].id, content: "" };
  const values = { messages: [changed, removed] };
  const supersteps = [[{ values, command: null, as_node: "reply" }]];
  await object.updateState({ ns: "", checkpoint_id: null, supersteps }, revision);
  const { messages } = await wait("echo", { input: { messages: talk(1) } });
  const expected = before.messages.toSpliced(5, 1, changed).toSpliced(7, 1);
  expect(messages.slice(0, -2)).toEqual(expected);
});

test("what a run stored for itself goes when it is undone, and the rest stays", async () => {
  const { place, object, create, join, wait } = await threadOf(60);
  const before = await wait("echo", { input: { messages: talk(1) } });
  const ids = () =>
    rowsOf(place, "SELECT id FROM value_segments UNION ALL SELECT -id FROM event_segments");
  const kept = await ids();
  const { run_id } = await create("echo", { input: { messages: talk(1, 1) } });
  await join(run_id);
  expect((await ids()).length).toBeGreaterThan(kept.length);
  await object.deleteRun(run_id);
  expect(await ids()).toEqual(kept);
  const { messages } = await wait("echo", { input: { messages: talk(1) } });
  expect(messages.slice(0, -2)).toEqual(before.messages);
});

test("deletes the long values of events after a day, and keeps those of later runs", async () => {
  const { place, create, join, follow } = await threadOf(60);
  const converse = async (n: number) => {
    const { run_id } = await create("echo", { input: { messages: talk(1, n) } });
    await join(run_id);
    return run_id;
  };
  const [old, young] = [await converse(0), await converse(1)];
  const before = await follow(young);
  await inObject(place, (sql) =>
    sql.exec("UPDATE runs SET ended_at = 0 WHERE run_id <> ?", young).toArray(),
  );
  await runDurableObjectAlarm(stubOf(place));
  expect(await follow(old)).toEqual([]);
  expect(await follow(young)).toEqual(before);
  const [used] = await rowsOf(
    place,
    "SELECT count(DISTINCT w.value) AS n FROM events, json_each(segments) AS w",
  );
  expect(await rowsOf(place, "SELECT count(*) AS n FROM event_segments")).toEqual([used]);
});

test("the head of a thread is found without a scan of its history", async () => {
  const { place, wait } = await threadOf(1);
  for (let n = 0; n < 10; n++) await wait("echo", { input: { messages: talk(1, n) } });
  const { rowsRead, head } = await inObject(place, (sql) => {
    const tables = threadTables(sql);
    const prototype = Object.getPrototypeOf(sql);
    const { exec } = prototype;
    const cursors: SqlStorageCursor<never>[] = [];
    prototype.exec = function counted(this: SqlStorage, ...args: [string]) {
      const cursor = exec.apply(this, args);
      if (args[0].includes("FROM checkpoints")) cursors.push(cursor);
      return cursor;
    };
    const head = new Checkpoints(tables, new Parts(tables)).read("", null);
    prototype.exec = exec;
    return { rowsRead: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0), head };
  });
  expect(head?.metadata).toContain("loop");
  expect(rowsRead).toBeLessThanOrEqual(5);
});

test("of a thread that is pruned nothing is left but what its latest state is made of", async () => {
  const { place, object, wait } = await threadOf(60);
  for (let n = 0; n < 10; n++) await wait("echo", { input: { messages: talk(1, n) } });
  expect(await object.pruneThread()).toBe(true);
  const [used] = await rowsOf(
    place,
    "SELECT count(DISTINCT w.value) AS n FROM channel_values, json_each(segments) AS w",
  );
  expect(await rowsOf(place, "SELECT count(*) AS n FROM value_segments")).toEqual([used]);
  const { messages } = await wait("echo", { input: { messages: talk(1) } });
  expect(messages).toHaveLength(60 + 1 + 10 * 2 + 2);
});

test("a state update notices that the thread was pruned", async () => {
  const { place, wait } = await testThread();
  await wait("steps", { input: {} });
  await inObject(place, (sql) => {
    const tables = threadTables(sql);
    const checkpoints = new Checkpoints(tables, new Parts(tables));
    const { version } = checkpoints;
    checkpoints.keepLatest();
    expect(checkpoints.version).not.toBe(version);
  });
});

test("a copy of a long thread has its whole history, and continues independently", async () => {
  const { place, object, revision, wait } = await threadOf(60);
  await wait("echo", { input: { messages: talk(1) } });
  const copy = { ...place, thread_id: newId() };
  const stub = threadObject(env, place.deployment_id, copy.thread_id);
  expect(await stub.copyThread(place.thread_id, copy)).not.toBeNull();
  const call = { ns: "", checkpoint_id: null, before_id: null, metadata: null, limit: 100 };
  const [ours, theirs] = await Promise.all(
    [object, stub].map(async (thread) => {
      const answer = await thread.getHistory(call, revision);
      return answer.ok ? answer.value : JSON.stringify(answer);
    }),
  );
  expect(theirs).toBe(ours?.replaceAll(place.thread_id, copy.thread_id));
  expect(JSON.parse(theirs ?? "")).toHaveLength(6);
});

/** Does work after each of the first pages that are copied. */
function afterPages(times: number, work: () => Promise<unknown>) {
  const { exportPage } = ThreadMethods.prototype;
  let left = times;
  const spy = vi.spyOn(ThreadMethods.prototype, "exportPage");
  onTestFinished(() => spy.mockRestore());
  spy.mockImplementation(async function (this: ThreadMethods, ...args) {
    const page = await exportPage.apply(this, args);
    left -= 1;
    if (left >= 0) await work();
    return page;
  });
}

test("a copy begins again when a run is deleted beside it", async () => {
  const { place, object, revision, create, join, wait } = await threadOf(60);
  await wait("echo", { input: { messages: talk(1) } });
  const { run_id } = await create("echo", { input: { messages: talk(1, 1) } });
  await join(run_id);
  afterPages(1, () => object.deleteRun(run_id));
  const copy = { ...place, thread_id: newId() };
  const stub = threadObject(env, place.deployment_id, copy.thread_id);
  expect(await stub.copyThread(place.thread_id, copy)).not.toBeNull();
  const call = { ns: "", checkpoint_id: null, before_id: null, metadata: null, limit: 100 };
  const [ours, theirs] = [
    await object.getHistory(call, revision),
    await stub.getHistory(call, revision),
  ];
  expect(theirs.ok && JSON.parse(theirs.value)).toHaveLength(6);
  expect(theirs.ok && theirs.value).toBe(
    ours.ok && ours.value.replaceAll(place.thread_id, copy.thread_id),
  );
});

test("a copy beside a run that answers keeps the earlier answers", async () => {
  const { place, object, create, join, wait } = await testThread();
  await wait("interrupts_twice", { input: {} });
  await wait("interrupts_twice", { command: { resume: "one" } });
  afterPages(1, async () => {
    const { run_id } = await create("interrupts_twice", { command: { resume: "two" } });
    await join(run_id);
  });
  const copy = { ...place, thread_id: newId() };
  const stub = threadObject(env, place.deployment_id, copy.thread_id);
  expect(await stub.copyThread(place.thread_id, copy)).not.toBeNull();
  const [ours, theirs] = [await object.getThread(), await stub.getThread()];
  expect(theirs?.interrupts).toEqual(ours?.interrupts);
  expect(theirs?.status).toBe("idle");
});

test("a copy ends with an error when its source never rests", async () => {
  const { place, object, wait } = await testThread();
  await wait("steps", { input: {} });
  afterPages(100, () => object.pruneThread());
  const copy = { ...place, thread_id: newId() };
  const stub = threadObject(env, place.deployment_id, copy.thread_id);
  await expect(stub.copyThread(place.thread_id, copy)).rejects.toThrow("try again");
  expect(await stub.getThread()).toBeNull();
});

test("deletes a copy that a failure of its source interrupted", async () => {
  const { place, wait } = await testThread();
  await wait("steps", { input: {} });
  const copy = { ...place, thread_id: newId() };
  await inObject(place, (sql) => sql.exec("ALTER TABLE checkpoints RENAME TO unreadable"));
  const stub = threadObject(env, place.deployment_id, copy.thread_id);
  await expect(stub.copyThread(place.thread_id, copy)).rejects.toThrow("checkpoints");
  const alarm = await runInDurableObject(stubOf(copy), async (_thread, { storage }) => {
    storage.sql.exec("UPDATE thread SET ended_at = ?", Date.now() - 600_000);
    return storage.getAlarm();
  });
  expect(alarm).not.toBeNull();
  const crash = runInDurableObject(stubOf(copy), (_thread, state) => state.abort("crash"));
  await crash.catch(() => {});
  expect(await runDurableObjectAlarm(stubOf(copy))).toBe(true);
  expect(
    await runInDurableObject(stubOf(copy), (_thread, { storage }) => isMigrated(storage)),
  ).toBe(false);
});

test("a copy has nothing of a run that began after it", async () => {
  const { object, create, join, wait } = await testThread();
  await wait("interrupts_after_a_step", { input: {} });
  const head = await object.exportHead();
  if (!head) throw new Error("The thread has no head");
  const later = await create("interrupts_after_a_step", { command: { resume: "yes" } });
  await join(later.run_id);
  const rowsOf = async (table: CopiedTable) => {
    const page = await object.exportPage(table, null, head.bounds);
    return page === null || page === "outdated" ? [] : page.rows;
  };
  const [checkpoints, writes] = [await rowsOf("checkpoints"), await rowsOf("writes")];
  expect([checkpoints.length > 0, writes.length > 0]).toEqual([true, true]);
  const ofLater = [...checkpoints, ...writes].filter(({ run_id }) => run_id === later.run_id);
  expect(ofLater).toEqual([]);
});

test("segments give back every text that was put, however it follows from the one before", async () => {
  const { place } = await threadOf(1);
  await inObject(place, (sql) => {
    const segments = new Segments(threadTables(sql), VALUE_SEGMENTS);
    const bytes = (text: string) => new TextEncoder().encode(text);
    const kept: { text: string; segments: string; tail: Uint8Array }[] = [];
    let items: string[] = [];
    for (let n = 0; n < 400; n++) {
      if (n % 97 === 96) items = items.slice(0, items.length / 2);
      items.push(`{"content":"${"ä".repeat(n % 40)} ${n}"}`);
      const text = JSON.stringify({ items }).replaceAll("\\", "");
      kept.push({ text, ...segments.put(bytes(text), kept.at(-1)?.segments ?? null) });
    }
    for (const { text, segments: ids, tail } of kept) {
      expect(new TextDecoder().decode(segments.bytes(ids, tail))).toBe(text);
      expect(JSON.parse(ids).length).toBeLessThanOrEqual(33);
    }
    const written = sql
      .exec<{ n: number }>("SELECT sum(length(data)) AS n FROM value_segments")
      .one().n;
    // Whole texts would be two hundred times the last one.
    expect(written).toBeLessThan(12 * bytes(kept.at(-1)?.text ?? "").length);
  });
});

test.each([
  ["are half a part long", Array.from({ length: 36 }, () => 512 * 1024)],
  ["shrink by a third", Array.from({ length: 34 }, (_, n) => Math.round(1024 * 1024 * 0.66 ** n))],
])("segments give back a text whose additions %s", async (_name, additions) => {
  const { place } = await threadOf(1);
  await inObject(place, (sql) => {
    const segments = new Segments(threadTables(sql), VALUE_SEGMENTS);
    let text = "";
    let base: string | null = null;
    for (const [n, addition] of additions.entries()) {
      text += String.fromCharCode(97 + (n % 26)).repeat(addition);
      const put = segments.put(new TextEncoder().encode(text), base);
      base = put.segments;
      const read = new TextDecoder().decode(segments.bytes(put.segments, put.tail));
      expect(read === text, `after ${n + 1} additions`).toBe(true);
    }
  });
});
