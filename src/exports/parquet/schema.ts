import type { Column, ColumnType } from "../columns.ts";
import { binary, bool, i32, struct, type Value } from "./thrift.ts";

const BOOLEAN = 0;
const INT64 = 2;
const DOUBLE = 5;
const BYTE_ARRAY = 6;

const OPTIONAL = 1;
const REPEATED = 2;

const EMPTY = struct({});
const UTF8 = { 6: i32(0), 10: struct({ 1: EMPTY }) };
const LIST = { 6: i32(3), 10: struct({ 3: EMPTY }) };
const UTC_MICROS = {
  6: i32(10),
  10: struct({ 8: struct({ 1: bool(true), 2: struct({ 2: EMPTY }) }) }),
};

const PHYSICAL: Record<ColumnType, number> = {
  text: BYTE_ARRAY,
  texts: BYTE_ARRAY,
  boolean: BOOLEAN,
  timestamp: INT64,
  integer: INT64,
  double: DOUBLE,
};

export function physicalType({ type }: Column): number {
  return PHYSICAL[type];
}

export function pathOf({ name, type }: Column): string[] {
  return type === "texts" ? [name, "list", "element"] : [name];
}

/** The schema's tree, depth first. Each column may be null, so that files of other times fit beside. */
export function schemaOf(columns: readonly Column[]): Value[] {
  return [struct({ 4: binary("schema"), 5: i32(columns.length) }), ...columns.flatMap(elementsOf)];
}

function elementsOf(column: Column): Value[] {
  if (column.type !== "texts") return [leaf(column, column.name)];
  return [
    struct({ 3: i32(OPTIONAL), 4: binary(column.name), 5: i32(1), ...LIST }),
    struct({ 3: i32(REPEATED), 4: binary("list"), 5: i32(1) }),
    leaf(column, "element"),
  ];
}

function leaf({ type }: Column, name: string): Value {
  return struct({
    1: i32(PHYSICAL[type]),
    3: i32(OPTIONAL),
    4: binary(name),
    ...(PHYSICAL[type] === BYTE_ARRAY ? UTF8 : {}),
    ...(type === "timestamp" ? UTC_MICROS : {}),
  });
}
