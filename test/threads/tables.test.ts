import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/threads/storage/migrations.ts";
import { TABLES } from "../../src/threads/storage/tables.ts";

/** Columns, keys and indexes, whatever the text says that made them. */
async function shapeAfter(steps: string[]) {
  const stub = env.THREADS.getByName(crypto.randomUUID());
  return runInDurableObject(stub, (_, { storage }) => {
    for (const step of steps) storage.sql.exec(step);
    return [
      ...storage.sql.exec(
        `SELECT m.name AS "table", c.* FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND m.name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY m.name, c.cid`,
      ),
      ...storage.sql.exec(
        "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name",
      ),
      ...storage.sql.exec(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name",
      ),
    ];
  });
}

test("a new thread has the tables that all steps together leave of an old one", async () => {
  const migrated = await shapeAfter(MIGRATIONS);
  expect(migrated.length).toBeGreaterThan(MIGRATIONS.length);
  expect(await shapeAfter([TABLES])).toEqual(migrated);
});
