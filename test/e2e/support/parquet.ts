import { DuckDBInstance } from "@duckdb/node-api";

/** Queries files with Hive partitions in their paths by DuckDB, an independent reader; they are the table `t`. */
export async function queryParquet(
  paths: string[],
  sql: string,
): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const list = paths.map((path) => `'${path.replaceAll("'", "''")}'`).join(", ");
    await connection.run(
      `CREATE VIEW t AS SELECT * FROM read_parquet([${list}], hive_partitioning = true)`,
    );
    return (await connection.runAndReadAll(sql)).getRowObjectsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
