const VERSION = "schema_version";
const DELETION = "deletion";

/**
 * Returns whether `migrate` has run. An object that was only read has no tables, and costs nothing. An object that is
 * marked as deleted is no longer migrated.
 */
export function isMigrated(storage: DurableObjectStorage): boolean {
  return (storage.kv.get<number>(VERSION) ?? 0) > 0;
}

/**
 * Runs the steps that have not run yet, all or none. The version is the number of steps that ran, so steps are only
 * appended. An older release with fewer steps keeps the version: with a lower one, the newer release would later run its
 * steps twice. `schema` creates the tables of all steps at once, for a new object.
 */
export function migrate(
  storage: DurableObjectStorage,
  steps: readonly string[],
  schema: string | null = null,
): void {
  const version = storage.kv.get<number>(VERSION) ?? 0;
  if (version >= steps.length) return;
  storage.transactionSync(() => {
    if (version === 0 && deletionOf(storage) !== null) dropTables(storage);
    const rest = version === 0 && schema !== null ? [schema] : steps.slice(version);
    for (const step of rest) storage.sql.exec(step);
    storage.kv.put(VERSION, steps.length);
  });
}

/** Returns one schema for all steps. The first step creates all tables, and the others only add columns. */
export function schemaOf([tables = "", ...others]: readonly string[]): string {
  const statements = tables.split(";");
  for (const step of others.join(";").split(";")) {
    const [, table, column] = step.split(/ALTER TABLE | ADD COLUMN /);
    const at = statements.findIndex((statement) => statement.includes(`CREATE TABLE ${table} (`));
    if (column) statements[at] = addColumn(statements[at] ?? "", column);
  }
  return statements.join(";");
}

function addColumn(table: string, column: string): string {
  const key = table.search(/,\s+PRIMARY KEY \(/);
  const end = key === -1 ? table.lastIndexOf("\n") : key;
  return `${table.slice(0, end)},\n${column}${table.slice(end)}`;
}

/**
 * Marks the object as deleted in one transaction, and records the work that must be done before `deleteAll`. The tables
 * remain until `deleteAll`. A write before `deleteAll` drops them first: see `migrate`.
 */
export function markDeleted(storage: DurableObjectStorage, work: object): void {
  storage.transactionSync(() => {
    storage.kv.delete(VERSION);
    storage.kv.put(DELETION, work);
  });
}

/** @returns `null` unless the object is marked as deleted */
export function deletionOf<T extends object>(storage: DurableObjectStorage): T | null {
  return storage.kv.get<T>(DELETION) ?? null;
}

function dropTables({ sql, kv }: DurableObjectStorage) {
  for (const name of tablesOf(sql)) sql.exec(`DROP TABLE "${name}"`);
  kv.delete(DELETION);
}

/** Deletes the rows of all tables except those in `kept`. */
export function clearTables(sql: SqlStorage, kept: readonly string[]): void {
  for (const name of tablesOf(sql)) if (!kept.includes(name)) sql.exec(`DELETE FROM "${name}"`);
}

function tablesOf(sql: SqlStorage): string[] {
  const tables = sql.exec<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table'
       AND name NOT GLOB 'sqlite[_]*' AND name NOT GLOB '[_]cf[_]*'`,
  );
  return tables.toArray().map(({ name }) => name);
}
