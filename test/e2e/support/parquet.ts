import { DuckDBInstance } from "@duckdb/node-api";

/** Queries files with Hive partitions in their paths; they are the table `t`. */
export function queryParquet(paths: string[], sql: string): Promise<Record<string, unknown>[]> {
  const list = paths.map((path) => `'${path.replaceAll("'", "''")}'`).join(", ");
  return query(sql, [
    `CREATE VIEW t AS SELECT * FROM read_parquet([${list}], hive_partitioning = true)`,
  ]);
}

/** Queries by DuckDB, an independent reader. */
export async function query(
  sql: string,
  before: string[] = [],
): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const statement of before) await connection.run(statement);
    return (await connection.runAndReadAll(sql)).getRowObjectsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
