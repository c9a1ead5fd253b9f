type Exec = SqlStorage["exec"];
/** Called when the rows of a statement are known. */
type Report = (statement: string, rows: number) => void;

/**
 * Returns `exec` with a report of the rows that each statement writes. A cursor counts those of its last statement only:
 * the statements that create tables are executed one by one. Each table writes two rows of `sqlite_schema`, and each
 * index one.
 */
export function countedExec(exec: Exec, report: (sql: SqlStorage) => Report | null): Exec {
  return function counted(this: SqlStorage, query: string, ...bindings: unknown[]) {
    const add = report(this);
    if (!add) return exec.call(this, query, ...bindings);
    const statements = /^\s*CREATE\b/.test(query) ? query.split(/;\s*(?=\S)/) : [query];
    const last = statements.pop() ?? query;
    for (const one of statements) add(one, exec.call(this, one).rowsWritten);
    const cursor = exec.call(this, last, ...bindings);
    // The cursor of an INSERT ... RETURNING counts while it is read.
    queueMicrotask(() => add(last, cursor.rowsWritten));
    return cursor;
  } as Exec;
}
