import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { migrate } from "../../src/shared/object-tables.ts";
import { findCandidates } from "../../src/traces/filter/candidates.ts";
import { parseFilter } from "../../src/traces/filter/parse.ts";
import { MIGRATIONS } from "../../src/traces/storage/migrations.ts";

/** The tables of version 3 that later steps change. */
const OLD = `CREATE TABLE runs (row INTEGER PRIMARY KEY);
  CREATE TABLE run_tags (row INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (row, tag)) WITHOUT ROWID;
  CREATE TABLE run_pairs (row INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    value TEXT NOT NULL, number REAL, PRIMARY KEY (row, kind, key, value)) WITHOUT ROWID;
  INSERT INTO runs VALUES (1), (2), (900);
  INSERT INTO run_tags VALUES (1, 't'), (900, 't'), (900, 'u');
  INSERT INTO run_pairs VALUES (1, 'm', 'a', 'x', NULL), (1, 'o', 'n', '0.1', 0.1),
    (1, 'm', 'b', 'y"', NULL), (1, 'm', 'b', 'z', NULL), (2, 'm', 'a', 'z', NULL), (900, 'm', 'a', 'x', NULL)`;

test("pairs and tags of the oldest tables are found by filters, number by number", async () => {
  const stub = env.PARTITIONS.getByName(`${crypto.randomUUID()}/2026-05-05/0`);
  const candidatesOf = (text: string) => findCandidates(parseFilter(text)).at(0)?.sql ?? "";
  const found = await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec(OLD);
    storage.kv.put("schema_version", 3);
    migrate(storage, MIGRATIONS);
    const list = (sql: string) => [...storage.sql.exec(sql).raw()];
    return {
      metadata: list("SELECT row, key, value, number FROM metadata_pairs ORDER BY row"),
      outputs: list("SELECT row, key, value, number FROM output_pairs"),
      pair: list(candidatesOf('and(eq(metadata_key, "a"), eq(metadata_value, "x"))')),
      key: list(candidatesOf('eq(metadata_key, "a")')).flat().sort(),
      tag: list(candidatesOf('has(tags, "t")')),
      none: list(candidatesOf('has(tags, "none")')),
    };
  });
  expect(found).toEqual({
    metadata: [
      [1, "a", "x", null],
      [1, "b", 'y"', null],
      [1, "b", "z", null],
      [2, "a", "z", null],
      [900, "a", "x", null],
    ],
    outputs: [[1, "n", "0.1", 0.1]],
    pair: [[1], [900]],
    key: [1, 2, 900],
    tag: [[1], [900]],
    none: [],
  });
});
