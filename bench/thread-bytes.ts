import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const OBJECTS = "state/v3/do/heddle-ThreadObject";

/** Returns the bytes that the thread's object uses on the stack's disk, and the bytes of values in each table. */
export async function threadBytes(dir: string, thread_id: string) {
  const folder = join(dir, OBJECTS);
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".sqlite") || name.startsWith("metadata")) continue;
    const found = measure(join(folder, name), thread_id);
    if (found) return found;
  }
  throw new Error(`No object on the disk is thread ${thread_id}`);
}

function measure(file: string, thread_id: string) {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const one = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0];
    if (!hasTable(database, "thread") || one("SELECT thread_id FROM thread") !== thread_id)
      return null;
    const pages = Number(one("PRAGMA page_count")) - Number(one("PRAGMA freelist_count"));
    return { total: pages * Number(one("PRAGMA page_size")), tables: tablesOf(database) };
  } finally {
    database.close();
  }
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(name) !== undefined;
}

/** Returns the bytes of the values in each table, without what SQLite adds. */
function tablesOf(database: DatabaseSync): Record<string, number> {
  const tables = database
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_%' ESCAPE '\\'",
    )
    .all() as { name: string }[];
  return Object.fromEntries(tables.map(({ name }) => [name, sizeOf(database, name)]));
}

function sizeOf(database: DatabaseSync, table: string): number {
  const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as {
    name: string;
  }[];
  const sum = columns.map(({ name }) => `coalesce(length(CAST("${name}" AS BLOB)), 0)`).join(" + ");
  const row = database.prepare(`SELECT coalesce(sum(${sum}), 0) AS bytes FROM "${table}"`).get();
  return Number(row?.bytes ?? 0);
}
