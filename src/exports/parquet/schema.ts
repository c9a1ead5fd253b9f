import type { SchemaElement, SchemaTree } from "hyparquet";
import { schemaPathResolver } from "hyparquet-writer/src/schema.js";
import { type Column, type ColumnType, elementId } from "../columns.ts";

const TEXT = {
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  logical_type: { type: "STRING" },
} as const;

const LEAVES: Record<
  ColumnType,
  Pick<SchemaElement, "type" | "converted_type" | "logical_type">
> = {
  text: TEXT,
  texts: TEXT,
  boolean: { type: "BOOLEAN" },
  integer: { type: "INT64" },
  double: { type: "DOUBLE" },
  timestamp: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
};

const LIST = { converted_type: "LIST", logical_type: { type: "LIST" } } as const;

/**
 * Returns the schema's tree, depth first. Every column is optional, so that readers accept older files without it. Tables
 * of Iceberg find columns by their ids.
 */
export function schemaOf(columns: readonly Column[]): SchemaElement[] {
  return [{ name: "schema", num_children: columns.length }, ...columns.flatMap(elementsOf)];
}

function elementsOf(column: Column): SchemaElement[] {
  const { id, name, type } = column;
  if (type !== "texts") return [leaf(id, name, type)];
  return [
    { name, repetition_type: "OPTIONAL", num_children: 1, field_id: id, ...LIST },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    leaf(elementId(column), "element", type),
  ];
}

function leaf(field_id: number, name: string, type: ColumnType): SchemaElement {
  return { ...LEAVES[type], name, repetition_type: "OPTIONAL", field_id };
}

/** Returns each column's path from the root to its leaf. */
export function leafPaths(columns: readonly Column[]): SchemaTree[][] {
  const resolve = schemaPathResolver(schemaOf(columns));
  const names = ({ name, type }: Column) => (type === "texts" ? [name, "list", "element"] : [name]);
  return columns.map((column) => resolve(names(column)));
}
