import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { deleteThreadsOf } from "../../../src/agent-server/threads/api/threads/deletion.ts";
import { DirectoryObject } from "../../../src/agent-server/threads/directory/object.ts";
import { publishChanges } from "../../../src/agent-server/threads/directory/publication.ts";
import { MAX_ENTRY_AGE_MS } from "../../../src/agent-server/threads/directory/removals.ts";
import type { DirectoryQuery } from "../../../src/agent-server/threads/directory/search.ts";
import { directoryObject } from "../../../src/agent-server/threads/directory/stub.ts";
import { allows, type Filters } from "../../../src/shared/filters.ts";
import { isRecord } from "../../../src/shared/guards.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import {
  at,
  directoryRows,
  directoryStub,
  type EntryChange,
  entryOf,
} from "../../support/directory.ts";
import { ownRevision, testThread } from "../../support/threads.ts";

afterEach(() => void vi.restoreAllMocks());

/** Fires the alarm of a directory after removals are forgotten. */
async function forgetRemovals(deployment_id: string) {
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 3 * MAX_ENTRY_AGE_MS);
  expect(await runDurableObjectAlarm(directoryStub(deployment_id))).toBe(true);
}

function newDirectory() {
  const deployment_id = newId();
  const directory = directoryObject(env, deployment_id);
  const thread_id = newId();
  const entry = (change: EntryChange = {}) => entryOf({ thread_id, deployment_id, ...change });
  const removal = (seq: number) =>
    ({ deployment_id, thread_id, slot: 0, seq, is_removed: true }) as const;
  const found = async (query: Omit<DirectoryQuery, "limit"> = {}) =>
    (await directory.find("w", { limit: 10, with_metadata: true, ...query })).rows;
  return { deployment_id, directory, thread_id, entry, removal, found };
}

/** Returns tables and values of an object. */
const storedIn = (deployment_id: string) =>
  runInDurableObject(directoryStub(deployment_id), (_, { storage }) => [
    ...storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'"),
    ...storage.kv.list(),
  ]);

test("entries that arrive twice and in the wrong order leave the newest", async () => {
  const { directory, entry, found } = newDirectory();
  const newest = entry({ seq: 3, status: "error", metadata: { color: "red" } });
  await directory.publish([newest]);
  await directory.publish([entry({ seq: 2, status: "busy", metadata: { color: "blue" } }), newest]);
  expect(await found()).toMatchObject([{ status: "error", metadata: '{"color":"red"}' }]);
  expect(await found({ metadata: { color: "blue" } })).toEqual([]);
  expect(await found({ metadata: { color: "red" } })).toHaveLength(1);
  expect(await directory.count("w", {})).toMatchObject({
    ...{ idle: 0, busy: 0, interrupted: 0, error: 1 },
  });
});

test("a run of an idle thread writes no counts, also after an earlier version counted busy threads", async () => {
  const { directory, deployment_id, entry } = newDirectory();
  const counts = () =>
    runInDurableObject(directoryStub(deployment_id), (_, { storage }) =>
      storage.sql.exec("SELECT status, threads FROM counts ORDER BY status").toArray(),
    );
  await directory.publish([entry(), entryOf({ deployment_id })]);
  await directory.publish([entry({ seq: 2, status: "busy" })]);
  expect(await counts()).toEqual([{ status: "idle", threads: 2 }]);
  expect(await directory.count("w", {})).toMatchObject({ idle: 1, busy: 1 });
  expect(await directory.count("w", { status: "idle" })).toMatchObject({ idle: 1, busy: 0 });
  await runInDurableObject(directoryStub(deployment_id), (_, { storage }) => {
    storage.sql.exec("UPDATE counts SET threads = 1");
    storage.sql.exec("INSERT INTO counts VALUES ('busy', 1)");
  });
  const stored = await counts();
  await directory.publish([entry({ seq: 3, status: "idle" })]);
  expect(await counts()).toEqual(stored);
  expect(await directory.count("w", {})).toMatchObject({ idle: 2, busy: 0 });
  expect(await directory.count("w", { status: "busy" })).toMatchObject({ idle: 0, busy: 0 });
});

test("an entry that arrives after its removal stays removed, and a later thread of the id is found", async () => {
  const { directory, entry, removal, found } = newDirectory();
  await directory.publish([removal(5)]);
  await directory.publish([entry({ seq: 5 })]);
  expect(await found()).toEqual([]);
  await directory.publish([entry({ seq: 6, created_at: at(9), metadata: { a: 1 } })]);
  await directory.publish([removal(5), removal(5)]);
  expect(await found({ metadata: { a: 1 } })).toMatchObject([{ created_at: at(9) }]);
  await directory.publish([removal(6)]);
  expect(await directory.count("w", {})).toMatchObject({ idle: 0 });
});

test("an entry that arrives after its removal and an eviction of the directory stays removed", async () => {
  const { directory, deployment_id, entry, removal, found } = newDirectory();
  const late = entry({ seq: 5, metadata: { a: 1 } });
  await directory.publish([entry({ seq: 4 })]);
  await directory.publish([removal(5)]);
  await evictDurableObject(directoryStub(deployment_id));
  await directory.publish([late]);
  expect(await found()).toEqual([]);
  expect(await found({ metadata: { a: 1 } })).toEqual([]);
  expect(await directory.count("w", {})).toMatchObject({ idle: 0 });
  await directory.publish([entry({ seq: 6 })]);
  expect(await found()).toHaveLength(1);
});

test("a removal that is the first change of a directory is kept, and deleted once no entry can follow", async () => {
  const { directory, deployment_id, entry, removal, found } = newDirectory();
  await directory.publish([removal(5)]);
  await evictDurableObject(directoryStub(deployment_id));
  await directory.publish([entry({ seq: 5 })]);
  expect(await found()).toEqual([]);
  expect(await runDurableObjectAlarm(directoryStub(deployment_id))).toBe(true);
  expect(await storedIn(deployment_id)).not.toEqual([]);
  await forgetRemovals(deployment_id);
  expect(await storedIn(deployment_id)).toEqual([]);
});

test("an entry that is older than removals are kept adds no thread, and a new one of the thread does", async () => {
  const { directory, entry, removal, found } = newDirectory();
  const [old, other] = [entry({ seq: 5 }), entryOf({ deployment_id: "d" })];
  await directory.publish([entry({ seq: 1 }), removal(5)]);
  const { now } = Date;
  const later = vi.spyOn(Date, "now");
  later.mockImplementation(() => now() + 3 * MAX_ENTRY_AGE_MS);
  other.read_at = Date.now();
  expect(await directory.publish([old, other])).toMatchObject({ outdated: 1 });
  await expect(publishChanges(env, [old])).rejects.toThrow("too old");
  expect((await found()).map(({ thread_id }) => thread_id)).toEqual([other.thread_id]);
  await directory.publish([entry({ seq: 6, read_at: Date.now() })]);
  expect(await found()).toHaveLength(2);
});

test("expired removals are deleted by the next one", async () => {
  const { directory, deployment_id, entry, removal } = newDirectory();
  await directory.publish([entry({ seq: 1 }), removal(1)]);
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 3 * MAX_ENTRY_AGE_MS);
  await directory.publish([removal(9)]);
  const kept = await runInDurableObject(directoryStub(deployment_id), (_, { storage }) =>
    storage.sql.exec("SELECT seq FROM removals").toArray(),
  );
  expect(kept).toEqual([{ seq: 9 }]);
});

test("an entry that arrives after the deletion of its deployment adds nothing", async () => {
  const { directory, deployment_id, entry, removal, found } = newDirectory();
  await directory.publish([entry({ seq: 5 }), removal(5)]);
  await directory.deleteDirectory(deployment_id, 0);
  await evictDurableObject(directoryStub(deployment_id));
  await directory.publish([entry({ seq: 5 })]);
  expect(await found()).toEqual([]);
  await forgetRemovals(deployment_id);
  expect(await storedIn(deployment_id)).toEqual([]);
});

test("a thread with the id of another one whose removal was lost replaces its entry", async () => {
  const { directory, entry, found } = newDirectory();
  await directory.publish([entry({ seq: 1, metadata: { a: 1 } })]);
  await directory.publish([entry({ seq: 9, created_at: at(9), metadata: { a: 2 } })]);
  expect(await found()).toMatchObject([{ created_at: at(9) }]);
  expect(await found({ metadata: { a: 1 } })).toEqual([]);
  expect(await directory.count("w", {})).toMatchObject({ idle: 1 });
});

test("callers of another workspace find nothing", async () => {
  const { directory, entry } = newDirectory();
  await directory.publish([entry({ status: "interrupted", state_updated_at: at(1) })]);
  expect(await directory.find("theirs", { limit: 10 })).toEqual({
    ...{ rows: [], isCut: false, generation: 0 },
  });
  expect(await directory.count("theirs", {})).toMatchObject({ interrupted: 0 });
  expect(await directory.findWaiting("theirs", null, 10)).toMatchObject({ rows: [], total: 0 });
  expect(await directory.findWaiting("w", null, 10)).toMatchObject({ total: 1 });
});

test("pages are cut by their characters, and have at least one row", async () => {
  const { deployment_id, directory } = newDirectory();
  for (let n = 0; n < 6; n++) {
    const metadata = { n, text: "x".repeat(1_000_000) };
    await directory.publish([entryOf({ deployment_id, created_at: at(n), metadata })]);
  }
  const page = await directory.find("w", { limit: 10, with_metadata: true });
  expect([page.rows.length, page.isCut]).toEqual([4, true]);
  const rest = await directory.find("w", { limit: 10, offset: 4, with_metadata: true });
  expect([rest.rows.length, rest.isCut]).toEqual([2, false]);
  expect(await directory.find("w", { limit: 10 })).toMatchObject({ isCut: false });
});

test("the deletion of a deployment leaves nothing", async () => {
  const thread = await testThread(ownRevision());
  const { deployment_id, workspace_id } = thread.place;
  const orphan = entryOf({ deployment_id, workspace_id, metadata: { a: 1 } });
  const temporary = entryOf({ deployment_id, workspace_id, status: "busy", is_temporary: 1 });
  await directoryObject(env, deployment_id).publish([orphan, temporary]);
  expect(await directoryRows(deployment_id)).toHaveLength(3);
  expect(await deleteThreadsOf(env, deployment_id)).toBe(true);
  expect(await thread.object.getThread()).toBeNull();
  expect(await directoryRows(deployment_id)).toEqual([]);
  await forgetRemovals(deployment_id);
  vi.restoreAllMocks();
  expect(await storedIn(deployment_id)).toEqual([]);
  // A test suite empties its deployment and uses it again.
  await directoryObject(env, deployment_id).publish([orphan]);
  expect(await directoryRows(deployment_id)).toHaveLength(1);
});

test("the deletion of a deployment continues when a thread is published beside its last step", async () => {
  const { deployment_id, directory, entry, found } = newDirectory();
  await directory.publish([entry()]);
  const list = vi.spyOn(DirectoryObject.prototype, "find");
  list.mockResolvedValueOnce({ rows: [], isCut: false, generation: 0 });
  expect(await deleteThreadsOf(env, deployment_id)).toBe(false);
  list.mockRestore();
  expect(await found()).toHaveLength(1);
  expect(await deleteThreadsOf(env, deployment_id)).toBe(true);
  expect(await found()).toEqual([]);
});

test("a directory without threads keeps a cancellation that later threads may need", async () => {
  const { deployment_id, directory, entry } = newDirectory();
  const cancelUntil = (accepted_until: number) =>
    directory.cancelLate("w", {
      accepted_until,
      action: "interrupt",
      status: "all",
      filters: null,
    });
  const start = Date.now();
  await cancelUntil(start);
  vi.spyOn(Date, "now").mockImplementation(() => start + MAX_ENTRY_AGE_MS);
  await cancelUntil(start + MAX_ENTRY_AGE_MS);
  expect(await runDurableObjectAlarm(directoryStub(deployment_id))).toBe(true);
  const { cancellations } = await directory.publish([entry({ status: "busy" })]);
  expect(cancellations).toMatchObject([{ accepted_until: start + MAX_ENTRY_AGE_MS }]);
});

const text = fc.constantFrom("a", "b", 'quo"te', "dot.ted", "");
const value = fc.oneof(text, fc.constantFrom(1, 1.5, -1e21, true, null), fc.array(text));
const metadataOf = fc.dictionary(
  text,
  fc.oneof(value, fc.dictionary(text, value, { noNullPrototype: true })),
  { maxKeys: 3, noNullPrototype: true },
);
const filterOf = fc.option(
  fc.dictionary(
    text,
    fc.oneof(
      text.map((eq) => ({ eq })),
      fc.array(text, { maxLength: 2 }).map((contains) => ({ contains })),
    ),
    { maxKeys: 1, noNullPrototype: true },
  ),
);
const statusOf = fc.constantFrom("idle", "busy", "interrupted", "error");

function includes(kept: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted)) return JSON.stringify(kept) === JSON.stringify(wanted);
  return (
    isRecord(kept) &&
    Object.entries(wanted).every(([key, of]) => Object.hasOwn(kept, key) && includes(kept[key], of))
  );
}

test("searches and counts find what a comparison with each thread finds", async () => {
  const thread = fc.record({ metadata: metadataOf, status: statusOf, temporary: fc.boolean() });
  const changes = fc.array(fc.tuple(fc.nat(15), thread), { minLength: 1, maxLength: 60 });
  const query = fc.record({
    metadata: fc.option(metadataOf, { nil: undefined }),
    filters: filterOf,
    status: fc.option(statusOf, { nil: undefined }),
    sort_by: fc.constantFrom("created_at", "updated_at", "status"),
  });
  const property = fc.asyncProperty(
    changes,
    fc.array(query, { minLength: 5 }),
    async (all, queries) => {
      const { directory, deployment_id } = newDirectory();
      const newest = new Map<number, (typeof all)[number][1]>();
      const entries = all.map(([n, { metadata, status, temporary }], seq) => {
        newest.set(n, { metadata, status, temporary });
        const times = { created_at: at(n), updated_at: at(seq) };
        const ids = { thread_id: `thread-${n}`, deployment_id, seq: seq + 1 };
        return entryOf({ ...ids, ...times, metadata, status, is_temporary: temporary ? 1 : 0 });
      });
      await directory.publish(entries.toReversed());
      await directory.publish(entries);
      for (const { metadata = {}, filters, status, sort_by } of queries) {
        const expected = [...newest].filter(
          ([, kept]) =>
            !kept.temporary &&
            (status === undefined || kept.status === status) &&
            includes(kept.metadata, metadata) &&
            allows(filters as Filters | null, kept.metadata),
        );
        const filter = { metadata, filters: filters as Filters | null, status } as DirectoryQuery;
        const { rows } = await directory.find("w", {
          ...filter,
          sort_by,
          limit: 100,
        } as DirectoryQuery);
        expect(rows.map((row) => row.thread_id).sort()).toEqual(
          expected.map(([n]) => `thread-${n}`).sort(),
        );
        const { generation: _, ...byStatus } = await directory.count("w", filter);
        const sums = { idle: 0, busy: 0, interrupted: 0, error: 0 };
        for (const [, kept] of expected) sums[kept.status as keyof typeof sums] += 1;
        expect(byStatus).toEqual(sums);
      }
    },
  );
  await fc.assert(property, { numRuns: 40 });
}, 60_000);

test("a thread with more metadata than is indexed is found by all of it", async () => {
  const { directory, entry, found } = newDirectory();
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`key${n}`, n]));
  await directory.publish([entry({ metadata: many }), entryOf({ metadata: { key199: 199 } })]);
  expect(await found({ metadata: { key199: 199 } })).toHaveLength(2);
  expect(await found({ metadata: { key0: 0 } })).toHaveLength(1);
  expect(await found({ metadata: { key0: 1 } })).toHaveLength(0);
});
