import type { AnyD1Database } from "drizzle-orm/d1";
import { count } from "../metrics/metrics.ts";
import { toDatabaseError } from "./outage.ts";

// Structural types: the console imports types through this file, and its tsconfig has no D1 types.
type Statement = {
  bind(...values: unknown[]): Statement;
  all(): Promise<unknown>;
  run(): Promise<unknown>;
  raw(): Promise<unknown>;
};
type StatementDatabase = {
  prepare(sql: string): Statement;
  batch(statements: Statement[]): Promise<unknown>;
};

/** Counts statements and failed calls of a D1 database, and converts its outages to `DatabaseOutageError`. */
export function withCounts<T extends AnyD1Database>(database: T): T {
  const db = database as unknown as StatementDatabase;
  const counted: StatementDatabase = {
    prepare: (sql) => new CountedStatement(db.prepare(sql)),
    batch: (statements) => countCall(statements.length, () => db.batch(statements.map(innerOf))),
  };
  return counted as unknown as T;
}

class CountedStatement implements Statement {
  readonly inner: Statement;

  constructor(inner: Statement) {
    this.inner = inner;
  }

  bind(...values: unknown[]): CountedStatement {
    return new CountedStatement(this.inner.bind(...values));
  }

  all(): Promise<unknown> {
    return countCall(1, () => this.inner.all());
  }

  run(): Promise<unknown> {
    return countCall(1, () => this.inner.run());
  }

  raw(): Promise<unknown> {
    return countCall(1, () => this.inner.raw());
  }
}

function innerOf(statement: Statement): Statement {
  return statement instanceof CountedStatement ? statement.inner : statement;
}

async function countCall(statements: number, call: () => Promise<unknown>): Promise<unknown> {
  count("heddle_d1_statements_total", {}, statements);
  try {
    return await call();
  } catch (error) {
    count("heddle_d1_errors_total", {});
    throw toDatabaseError(error);
  }
}
