import { type Column, type ColumnType, elementId } from "../columns.ts";
import type { TableField, TableSchema } from "../table-state.ts";

const TYPES: Record<Exclude<ColumnType, "texts">, string> = {
  text: "string",
  boolean: "boolean",
  timestamp: "timestamptz",
  integer: "long",
  double: "double",
};

/** Returns the schema of a table. Its ids are those of the Parquet files. */
export function toTableSchema(columns: readonly Column[]): TableSchema {
  return {
    type: "struct",
    "schema-id": 0,
    "identifier-field-ids": [],
    fields: columns.map((column) => ({
      id: column.id,
      name: column.name,
      required: false,
      type: typeOf(column),
    })),
  };
}

function typeOf(column: Column): TableField["type"] {
  if (column.type !== "texts") return TYPES[column.type];
  return {
    type: "list",
    "element-id": elementId(column),
    element: TYPES.text,
    "element-required": false,
  };
}

/** Returns the highest id of a field. */
export function lastColumnId(columns: readonly Column[]): number {
  return Math.max(
    ...columns.map((column) => (column.type === "texts" ? elementId(column) : column.id)),
  );
}
