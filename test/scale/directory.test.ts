import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { DirectoryEntries } from "../../src/agent-server/threads/directory/entries.ts";
import { MIGRATIONS } from "../../src/agent-server/threads/directory/migrations.ts";
import {
  type DirectoryQuery,
  DirectorySearch,
} from "../../src/agent-server/threads/directory/search.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { migrate } from "../../src/shared/storage/object-tables.ts";
import { at, directoryStub, entryOf } from "../support/directory.ts";

/** Counts the rows that statements read. */
function counting(sql: SqlStorage) {
  const cursors: SqlStorageCursor<never>[] = [];
  const exec = (...args: Parameters<SqlStorage["exec"]>) => {
    const cursor = sql.exec(...args);
    cursors.push(cursor as never);
    return cursor;
  };
  const rowsRead = () => cursors.splice(0).reduce((sum, cursor) => sum + cursor.rowsRead, 0);
  return { sql: { exec } as unknown as SqlStorage, rowsRead };
}

const SIZES = [1000, 100_000];
const SEARCHES: Record<string, DirectoryQuery> = {
  "metadata of few": { metadata: { customer: "c-7" }, limit: 10 },
  "metadata of few, by update": { metadata: { customer: "c-7" }, limit: 10, sort_by: "updated_at" },
  "metadata of half": { metadata: { tier: "a" }, limit: 10 },
  "metadata of few and of half": { metadata: { tier: "a", customer: "c-7" }, limit: 10 },
  "metadata of none": { metadata: { customer: "nobody" }, limit: 10 },
  "metadata within an object": { metadata: { user: { id: "u-7" } }, limit: 10 },
  "authorization filters": { filters: { owner: { eq: "o-7" } }, limit: 10 },
  "authorization filters of a list": { filters: { groups: { contains: ["g-7"] } }, limit: 10 },
  "status of few": { status: "interrupted", limit: 10 },
  "busy threads": { status: "busy", with_temporary: true, sort_order: "asc", limit: 50 },
  "the newest": { limit: 10 },
  "any metadata, by id": { metadata: {}, limit: 10, sort_by: "thread_id" },
  "by status": { limit: 10, sort_by: "status" },
  "the last updated": { limit: 10, sort_by: "updated_at" },
};

function fill(storage: DurableObjectStorage, size: number) {
  migrate(storage, MIGRATIONS);
  storage.transactionSync(() => {
    const threads = Array.from({ length: size }, (_, n) => threadOf(n, size));
    new DirectoryEntries(storage.sql).apply(threads);
  });
}

/** Ten threads have the values that are searched for. */
function threadOf(n: number, size: number) {
  const isSearched = n < 10;
  const part = isSearched ? "7" : `other-${n}`;
  const status = n % 2 === 0 ? "busy" : "interrupted";
  return entryOf({
    ...{ created_at: at(n), updated_at: at(size - n), status: isSearched ? status : "idle" },
    metadata: {
      ...{ customer: `c-${part}`, tier: n % 2 === 0 ? "a" : "b", owner: `o-${part}` },
      ...{ user: { id: `u-${part}` }, groups: [`g-${part}`] },
    },
  });
}

test("a search reads as many rows of a hundred thousand threads as of a thousand", async () => {
  const [small, large] = await Promise.all(
    SIZES.map((size) =>
      runInDurableObject(directoryStub(newId()), (_, { storage }) => {
        fill(storage, size);
        const { sql, rowsRead } = counting(storage.sql);
        const search = new DirectorySearch(sql);
        const reads = Object.entries(SEARCHES).map(([name, query]) => {
          const found = [...search.find(query)].length;
          return [name, { found, rows: rowsRead() }] as const;
        });
        const counts = search.count({});
        expect(counts).toEqual({ idle: size - 10, busy: 5, interrupted: 5, error: 0 });
        return { ...Object.fromEntries(reads), "counts by status": { rows: rowsRead() } };
      }),
    ),
  );
  expect(large).toEqual(small);
}, 120_000);
