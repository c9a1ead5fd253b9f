import type { Column, ColumnType } from "./columns.ts";

export const ATHENA_TYPES: Record<ColumnType, string> = {
  text: "string",
  texts: "array<string>",
  boolean: "boolean",
  timestamp: "timestamp",
  integer: "bigint",
  double: "double",
};

/**
 * Returns SQL that reads an export below `location`. The location is below `tenant_id=` and
 * `session_id=`, because Glue rejects a partition key with a column's name.
 */
export function schemaStatements(columns: readonly Column[], location: string) {
  const folder = location.replace(/\/+$/, "").replaceAll("'", "''");
  const names = columns.map(({ name }) => name).join(", ");
  const fields = columns.map(({ name, type }) => `  \`${name}\` ${ATHENA_TYPES[type]}`).join(",\n");
  return {
    duckdb: `SELECT ${names}, year, month, day
FROM read_parquet('${folder}/*/*/*/*.parquet', hive_partitioning = true);`,
    athena: `CREATE EXTERNAL TABLE trace_runs (
${fields}
)
PARTITIONED BY (\`year\` int, \`month\` int, \`day\` int)
STORED AS PARQUET
LOCATION '${folder}/';`,
    athena_partitions: "MSCK REPAIR TABLE trace_runs;",
  };
}
