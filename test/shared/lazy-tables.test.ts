import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { LazyTables } from "../../src/shared/storage/lazy-tables.ts";

const STATEMENTS = {
  items: "CREATE TABLE IF NOT EXISTS items (id INTEGER); CREATE TABLE IF NOT EXISTS labels (id)",
};

function inStorage<T>(work: (storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.STORES.getByName(crypto.randomUUID());
  return runInDurableObject(stub, (_, { storage }) => work(storage));
}

const tablesOf = (sql: SqlStorage) =>
  sql
    .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
    .toArray()
    .map(({ name }) => name);

test("creates the tables of a group once, before their first write", async () => {
  await inStorage(({ sql }) => {
    const tables = new LazyTables(sql, STATEMENTS);
    expect([tables.has("items"), tablesOf(sql)]).toEqual([false, []]);
    tables.create("items");
    tables.create("items");
    expect([tables.has("items"), tablesOf(sql)]).toEqual([true, ["items", "labels"]]);
    expect(new LazyTables(sql, STATEMENTS).has("items")).toBe(true);
  });
});

test("creates tables again after the transaction that created them failed", async () => {
  await inStorage((storage) => {
    const tables = new LazyTables(storage.sql, STATEMENTS);
    const failed = () =>
      storage.transactionSync(() => {
        tables.create("items");
        throw new Error("failed");
      });
    expect(failed).toThrow("failed");
    tables.clearCache();
    expect(tables.has("items")).toBe(false);
    tables.create("items");
    expect(tablesOf(storage.sql)).toEqual(["items", "labels"]);
  });
});
