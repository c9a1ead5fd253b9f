import { env } from "cloudflare:workers";

/**
 * Runs work on empty tables. All test files of a process share the database, and a test of a whole region may
 * neither see nor delete their rows.
 */
export async function withEmptyTables<T>(
  tables: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  await run(tables.flatMap((name) => [`CREATE TABLE saved_${name} AS SELECT * FROM ${name}`]));
  await run(tables.map((name) => `DELETE FROM ${name}`));
  try {
    return await work();
  } finally {
    await run([
      ...tables.map((name) => `DELETE FROM ${name}`),
      ...tables.map((name) => `INSERT INTO ${name} SELECT * FROM saved_${name}`),
      ...tables.map((name) => `DROP TABLE saved_${name}`),
    ]);
  }
}

async function run(statements: string[]): Promise<void> {
  const deferred = "PRAGMA defer_foreign_keys = true";
  await env.DB.batch([deferred, ...statements].map((text) => env.DB.prepare(text)));
}
