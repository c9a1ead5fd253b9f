import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { deleteThreadsOf } from "../../../src/agent-server/threads/api/threads/deletion.ts";
import {
  DIRECTORY_SIZE,
  knownGeneration,
} from "../../../src/agent-server/threads/contract/directory-slots.ts";
import {
  countByStatus,
  findThreads,
} from "../../../src/agent-server/threads/directory/directory.ts";
import type { DirectoryEntry } from "../../../src/agent-server/threads/directory/entry.ts";
import { DirectoryObject } from "../../../src/agent-server/threads/directory/object.ts";
import { publishEntryNow } from "../../../src/agent-server/threads/directory/publication.ts";
import { MAX_ENTRY_AGE_MS } from "../../../src/agent-server/threads/directory/removals.ts";
import type { DirectoryQuery } from "../../../src/agent-server/threads/directory/search.ts";
import { directoryObject } from "../../../src/agent-server/threads/directory/stub.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { isMigrated } from "../../../src/shared/storage/object-tables.ts";
import { generationOf, slotOf, slotsUpTo } from "../../../src/shared/storage/slots.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { systemContext } from "../../support/deployment.ts";
import { at, type EntryChange, entryOf } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { api, workspace } from "../../support/workspace.ts";

afterEach(() => {
  DIRECTORY_SIZE.overrides.clear();
  vi.restoreAllMocks();
});

const ctx = systemContext("w");
const MAX_SIZE = { characters: 1_000_000, containers: 1000 };

/** A directory whose objects have few threads. `publish` does what the object of a thread does. */
function smallDirectory(max_threads: number) {
  const deployment_id = newId();
  DIRECTORY_SIZE.overrides.set(deployment_id, max_threads);
  const publish = async (change: EntryChange = {}): Promise<DirectoryEntry> => {
    const entry = entryOf({ deployment_id, ...change });
    for (let generation = 0; generation < 4; generation++) {
      const { move_to } = await publishEntryNow(env, entry);
      if (move_to === null) return entry;
      entry.slot = slotOf(entry.thread_id, move_to);
    }
    throw new Error("No object takes the thread");
  };
  const find = async (query: Partial<DirectoryQuery> = {}) =>
    (await findThreads(ctx, { deployment_id }, { limit: 100, ...query }, MAX_SIZE)) ?? [];
  const idsOf = async (query?: Partial<DirectoryQuery>) =>
    (await find(query)).map(({ thread_id }) => thread_id);
  return { deployment_id, publish, find, idsOf };
}

const stubOf = (deployment_id: string, slot: number) =>
  env.DIRECTORIES.getByName(slot === 0 ? deployment_id : `${deployment_id}/${slot}`);

const rowsOf = (deployment_id: string, slot: number) =>
  runInDurableObject(stubOf(deployment_id, slot), (_, { storage }) =>
    isMigrated(storage)
      ? storage.sql.exec<{ thread_id: string }>("SELECT thread_id FROM threads").toArray()
      : [],
  );

test("threads beyond the size of an object are in objects of the next generations, each in one", async () => {
  const { deployment_id, publish, idsOf } = smallDirectory(3);
  const made: string[] = [];
  for (let n = 0; n < 30; n++) made.push((await publish({ created_at: at(n) })).thread_id);
  const generation = knownGeneration(deployment_id);
  expect(generation).toBeGreaterThan(1);
  const slots = slotsUpTo(generation);
  const sizes = await Promise.all(
    slots.map(async (slot) => (await rowsOf(deployment_id, slot)).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(30);
  expect(Math.max(...sizes.filter((_, slot) => generationOf(slot) < generation))).toBe(3);
  expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(5);
  expect(await idsOf()).toEqual(made.toReversed());
  expect(await countByStatus(ctx, { deployment_id }, {})).toMatchObject({ idle: 30 });
});

test("an isolate that knows no generation finds the threads of all objects", async () => {
  const { deployment_id, find } = smallDirectory(3);
  const root = directoryObject(env, deployment_id);
  await root.grow("w", 1);
  const entries = [1, 2, 3, 4].map((slot) =>
    entryOf({ deployment_id, slot, created_at: at(slot) }),
  );
  for (const entry of entries)
    await directoryObject(env, deployment_id, entry.slot).publish([entry]);
  expect(knownGeneration(deployment_id)).toBe(0);
  expect(await find()).toHaveLength(4);
});

test("a search of a directory of one object is one request, and of more one for each object", async () => {
  const small = smallDirectory(100);
  await small.publish();
  const calls = vi.spyOn(DirectoryObject.prototype, "find");
  // Other tests share the isolate.
  const callsOf = ({ deployment_id }: typeof small) =>
    (calls.mock.contexts as object[]).filter((object) => {
      const { id } = Reflect.get(object, "ctx") as DurableObjectState;
      return id.name?.startsWith(deployment_id);
    }).length;
  await small.find({ with_metadata: true });
  const large = smallDirectory(1);
  await large.publish();
  await large.publish();
  expect(callsOf(small)).toBe(1);
  const objects = slotsUpTo(knownGeneration(large.deployment_id));
  expect(objects.length).toBeGreaterThan(1);
  await large.find();
  expect(callsOf(large)).toBe(objects.length);
});

test("a late entry of a thread that another object has adds no second one", async () => {
  const { deployment_id, publish, find } = smallDirectory(1);
  const late = entryOf({ deployment_id });
  await publish();
  await publish({ ...late, metadata: {}, seq: 2, status: "error" });
  await evictDurableObject(stubOf(deployment_id, 0));
  const root = directoryObject(env, deployment_id);
  expect(await root.publish([late])).toMatchObject({ refused: [late.thread_id] });
  expect(await find({ ids: [late.thread_id] })).toMatchObject([{ status: "error" }]);
});

test("threads of a full object of the directory still change", async () => {
  const { deployment_id, publish, find } = smallDirectory(1);
  const first = await publish();
  await publish();
  await publish({ ...first, seq: 2, status: "busy", metadata: { a: 1 } });
  expect(await find({ metadata: { a: 1 } })).toMatchObject([{ status: "busy" }]);
  expect((await rowsOf(deployment_id, 0)).map((row) => row.thread_id)).toEqual([first.thread_id]);
});

const SORTED = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"] as const;

test("a directory of several objects pages as one object does, in each order and filter", async () => {
  const thread = fc.record({
    status: fc.constantFrom("idle", "busy", "interrupted", "error"),
    created: fc.nat(8),
    updated: fc.nat(8),
    state: fc.option(fc.nat(8)),
    color: fc.constantFrom("red", "blue"),
  });
  const query = fc.record({
    sort_by: fc.constantFrom(...SORTED),
    sort_order: fc.constantFrom("asc" as const, "desc" as const),
    limit: fc.integer({ min: 1, max: 7 }),
    metadata: fc.constantFrom<{ color?: string }>({}, { color: "red" }),
  });
  const threads = fc.array(thread, { minLength: 1, maxLength: 25 });
  const queries = fc.array(query, { minLength: 3, maxLength: 6 });
  const property = fc.asyncProperty(threads, queries, async (all, searches) => {
    const [one, many] = [smallDirectory(1000), smallDirectory(2)];
    for (const { status, created, updated, state, color } of all) {
      const change = {
        ...{ thread_id: newId(), status, created_at: at(created), updated_at: at(updated) },
        state_updated_at: state === null ? null : at(state),
        metadata: { color },
      } as EntryChange;
      await one.publish(change);
      await many.publish(change);
    }
    for (const { limit, ...choice } of searches) {
      const whole = await one.find(choice);
      const keys = (rows: typeof whole) =>
        rows.map((row) => (choice.sort_by === "created_at" ? row.created_at : row[choice.sort_by]));
      const pages: typeof whole = [];
      for (let offset = 0; offset < whole.length; offset += limit) {
        const page = await many.find({ ...choice, with_metadata: true, offset, limit });
        pages.push(...page.slice(0, limit));
      }
      expect(keys(pages)).toEqual(keys(whole));
      const [paged, unpaged] = [pages, whole].map((rows) =>
        rows.map((row) => row.thread_id).sort(),
      );
      expect(paged).toEqual(unpaged);
      const isFound = ({ metadata }: (typeof pages)[number]) =>
        choice.metadata.color === undefined || metadata.color === choice.metadata.color;
      expect(pages.every(isFound)).toBe(true);
    }
  });
  await fc.assert(property, { numRuns: 12 });
}, 120_000);

test("a thread with the id of one whose removal was lost has one entry, in the object of that one", async () => {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  DIRECTORY_SIZE.overrides.set(deployment_id, 1);
  const send = (method: string, path: string, json?: unknown) =>
    api(`/agents/${deployment_id}${path}`, { key: ours.admin, method, json });
  const thread_id = newId();
  expect((await send("POST", "/threads", { thread_id })).status).toBe(200);
  expect((await send("POST", "/threads", {})).status).toBe(200);
  expect(knownGeneration(deployment_id)).toBeGreaterThan(0);
  const { publish } = DirectoryObject.prototype;
  const lost = vi.spyOn(DirectoryObject.prototype, "publish");
  lost.mockImplementation(function (this: DirectoryObject, changes) {
    const isLost = changes.some((one) => "is_removed" in one && one.thread_id === thread_id);
    return isLost
      ? Promise.reject(new Error("The directory is down"))
      : publish.call(this, changes);
  });
  expect((await send("DELETE", `/threads/${thread_id}`)).status).toBe(204);
  const metadata = { again: true };
  expect((await send("POST", "/threads", { thread_id, metadata })).status).toBe(200);
  const found = await send("POST", "/threads/search", { ids: [thread_id] });
  expect(await found.json()).toMatchObject([{ thread_id, metadata }]);
  const rows = await rowsOf(deployment_id, 0);
  expect(rows).toEqual([{ thread_id }]);
});

test("threads of a deployment that outgrows an object are found, cancelled and deleted with its storage", async () => {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  DIRECTORY_SIZE.overrides.set(deployment_id, 2);
  const send = async <T>(path: string, json: unknown): Promise<T> => {
    const response = await api(`/agents/${deployment_id}${path}`, { key: ours.admin, json });
    expect(response.ok, `${path}: ${response.status}`).toBe(true);
    return response.status === 204 ? (undefined as T) : response.json<T>();
  };
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) {
    const { thread_id } = await send<{ thread_id: string }>("/threads", { metadata: { n } });
    ids.push(thread_id);
  }
  expect(knownGeneration(deployment_id)).toBeGreaterThan(0);
  const search = (query: object) => send<{ thread_id: string }[]>("/threads/search", query);
  const found = await search({ limit: 100 });
  expect(found.map(({ thread_id }) => thread_id)).toEqual(ids.toReversed());
  expect(await search({ metadata: { n: 7 } })).toMatchObject([{ thread_id: ids[7] }]);
  expect(await send("/threads/count", {})).toBe(12);
  const run = { assistant_id: "echo", input: { messages: [] }, after_seconds: 3600 };
  for (const id of [ids[0], ids[11]]) await send(`/threads/${id}/runs`, run);
  await eventually(async () => expect(await search({ status: "busy" })).toHaveLength(2));
  await send("/runs/cancel", { status: "pending" });
  await eventually(async () => expect(await search({ status: "busy" })).toEqual([]));

  expect(await deleteThreadsOf(env, deployment_id)).toBe(true);
  expect(await search({ limit: 100 })).toEqual([]);
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 3 * MAX_ENTRY_AGE_MS);
  const slots = slotsUpTo(knownGeneration(deployment_id));
  // The first object goes last: it knows the others.
  for (const slot of slots.toReversed()) await runDurableObjectAlarm(stubOf(deployment_id, slot));
  const kept = await Promise.all(
    slots.map((slot) =>
      runInDurableObject(stubOf(deployment_id, slot), (_, { storage }) => isMigrated(storage)),
    ),
  );
  expect(kept).toEqual(slots.map(() => false));
}, 60_000);
