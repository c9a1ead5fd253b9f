import type { Column } from "../columns.ts";
import { ATHENA_TYPES } from "../schema-statements.ts";
import { metadataFile } from "./metadata.ts";

export type TableVersion = {
  location: string;
  version: number;
  /** Version of the metadata file to name. The newest state of a file later than `version` is not that of `version`. */
  metadata_version: number;
  /** State of the table to read. `null` reads the newest. */
  snapshot_id: number | null;
};

/**
 * Returns statements that read a table. DuckDB and Spark find the newest version by the hint. The others name a metadata
 * file. Snowflake and BigQuery read only the newest state of that file, so they are omitted when the file is later than
 * `version`.
 */
export function tableStatements(
  columns: readonly Column[],
  { location, version, metadata_version, snapshot_id }: TableVersion,
): Record<string, string> {
  const names = columns.map(({ name }) => name).join(", ");
  const metadata = metadataFile(location, metadata_version);
  const past = snapshot_id === null ? "" : `, snapshot_from_id = ${snapshot_id}`;
  const asOf = snapshot_id === null ? "" : `\nFOR VERSION AS OF ${snapshot_id}`;
  const option = snapshot_id === null ? "" : `.option("snapshot-id", ${snapshot_id})`;
  const statements = {
    duckdb: `SELECT ${names}\nFROM iceberg_scan(${quote(location)}${past});`,
    athena: `SELECT ${names}\nFROM trace_runs${asOf};`,
    athena_register: glueCommand(columns, location, metadata),
    spark: `spark.read.format("iceberg")${option}.load(${JSON.stringify(location)}).createOrReplaceTempView("trace_runs")`,
  };
  if (metadata_version !== version) return statements;
  return {
    ...statements,
    snowflake: `CREATE OR REPLACE ICEBERG TABLE trace_runs
  EXTERNAL_VOLUME = 'VOLUME OF THE BUCKET'
  CATALOG = 'INTEGRATION FOR FILES IN OBJECT STORAGE'
  METADATA_FILE_PATH = ${quote(pathOf(metadata))};`,
    bigquery: `CREATE OR REPLACE EXTERNAL TABLE traces.trace_runs
WITH CONNECTION \`REGION.CONNECTION\`
OPTIONS (format = 'ICEBERG', uris = [${quote(metadata, "\\'")}]);`,
  };
}

/** Registers a metadata file. Athena reads tables of the Glue catalogue only. */
function glueCommand(columns: readonly Column[], location: string, metadata: string): string {
  const table = {
    Name: "trace_runs",
    TableType: "EXTERNAL_TABLE",
    Parameters: { table_type: "ICEBERG", metadata_location: metadata },
    StorageDescriptor: {
      Location: location,
      Columns: columns.map(({ name, type }) => ({ Name: name, Type: ATHENA_TYPES[type] })),
    },
  };
  const input = JSON.stringify(table).replaceAll("'", "'\\''");
  return `aws glue create-table --database-name traces --table-input '${input}'`;
}

function quote(text: string, apostrophe = "''"): string {
  return `'${text.replaceAll("'", apostrophe)}'`;
}

/** Returns the path within the bucket. */
function pathOf(url: string): string {
  return url.replace(/^\w+:\/\/[^/]+\//, "");
}
