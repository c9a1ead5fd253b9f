/**
 * Tables of an object that are created before their first write: a table costs two billed rows, an index one more.
 * Readers call `has` first. A released statement never changes, because existing objects keep the table that it created:
 * another column needs a new table.
 */
export class LazyTables<Name extends string> {
  readonly sql: SqlStorage;
  readonly #statements: Readonly<Record<Name, string>>;
  /** Names of the object's tables, `null` before they are read. */
  #names: Set<string> | null = null;

  /** `statements`: each creates the table of its name. It may create other tables, which exist whenever this one does. */
  constructor(sql: SqlStorage, statements: Readonly<Record<Name, string>>) {
    this.sql = sql;
    this.#statements = statements;
  }

  has(name: Name): boolean {
    this.#names ??= this.#read();
    return this.#names.has(name);
  }

  /** The caller opens the transaction. */
  create(name: Name) {
    if (this.has(name)) return;
    this.sql.exec(this.#statements[name]);
    this.#names?.add(name);
  }

  /** Skips the first read: the object is new. */
  startEmpty() {
    this.#names = new Set();
  }

  /** Drops the cache after a failed transaction, whose tables it may hold. */
  clearCache() {
    this.#names = null;
  }

  #read(): Set<string> {
    const tables = this.sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table'",
    );
    return new Set([...tables].map(({ name }) => name));
  }
}
