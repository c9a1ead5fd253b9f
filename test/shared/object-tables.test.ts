import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import {
  deletionOf,
  isMigrated,
  markDeleted,
  migrate,
} from "../../src/shared/storage/object-tables.ts";

const FIRST = "CREATE TABLE items (id INTEGER PRIMARY KEY); INSERT INTO items VALUES (1);";
const SECOND = "ALTER TABLE items ADD COLUMN name TEXT; UPDATE items SET name = 'old';";

function inStorage<T>(work: (storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.STORES.getByName(crypto.randomUUID());
  return runInDurableObject(stub, (_, { storage }) => work(storage));
}

const readItems = ({ sql }: DurableObjectStorage) => [...sql.exec("SELECT * FROM items")];

test("a new object runs every step", async () => {
  const items = await inStorage((storage) => {
    expect(isMigrated(storage)).toBe(false);
    migrate(storage, [FIRST, SECOND]);
    expect(isMigrated(storage)).toBe(true);
    return readItems(storage);
  });
  expect(items).toEqual([{ id: 1, name: "old" }]);
});

test("an object of an earlier version keeps its rows and runs the new steps once", async () => {
  const items = await inStorage((storage) => {
    migrate(storage, [FIRST]);
    storage.sql.exec("INSERT INTO items VALUES (2)");
    migrate(storage, [FIRST, SECOND]);
    storage.sql.exec("INSERT INTO items VALUES (3, 'new')");
    migrate(storage, [FIRST, SECOND]);
    return readItems(storage);
  });
  expect(items).toEqual([
    { id: 1, name: "old" },
    { id: 2, name: "old" },
    { id: 3, name: "new" },
  ]);
});

test("a release that was rolled back and installed again finds the tables of its steps", async () => {
  const items = await inStorage((storage) => {
    migrate(storage, [FIRST, SECOND]);
    migrate(storage, [FIRST]);
    storage.sql.exec("INSERT INTO items (id) VALUES (2)");
    migrate(storage, [FIRST, SECOND]);
    return readItems(storage);
  });
  expect(items).toEqual([
    { id: 1, name: "old" },
    { id: 2, name: null },
  ]);
});

test("a step that fails undoes the steps before it", async () => {
  const items = await inStorage((storage) => {
    migrate(storage, [FIRST]);
    expect(() => migrate(storage, [FIRST, SECOND, "INSERT INTO missing VALUES (1)"])).toThrow(
      /no such table/,
    );
    migrate(storage, [FIRST, SECOND]);
    return readItems(storage);
  });
  expect(items).toEqual([{ id: 1, name: "old" }]);
});

test("an object that is marked as deleted does not exist, and is new when it is written again", async () => {
  const items = await inStorage((storage) => {
    migrate(storage, [FIRST]);
    markDeleted(storage, { left: "work" });
    expect(isMigrated(storage)).toBe(false);
    expect(deletionOf(storage)).toEqual({ left: "work" });
    migrate(storage, [FIRST, SECOND]);
    expect(deletionOf(storage)).toBeNull();
    return readItems(storage);
  });
  expect(items).toEqual([{ id: 1, name: "old" }]);
});
