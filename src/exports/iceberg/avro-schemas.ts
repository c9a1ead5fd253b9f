// Schemas of Iceberg's format version 2. Readers find the fields by `field-id`.
import type { AvroType } from "./avro.ts";

const optional = <T extends AvroType>(type: T) => ["null", type] as const;

/** Map with integer keys, which Avro has as an array of pairs. */
const mapById = (key_id: number, value: AvroType) =>
  ({
    type: "array",
    logicalType: "map",
    items: {
      type: "record",
      name: `k${key_id}_v${key_id + 1}`,
      fields: [
        { name: "key", type: "int", "field-id": key_id },
        { name: "value", type: value, "field-id": key_id + 1 },
      ],
    },
  }) as const;

const DATA_FILE = {
  type: "record",
  name: "r2",
  fields: [
    { name: "content", type: "int", "field-id": 134 },
    { name: "file_path", type: "string", "field-id": 100 },
    { name: "file_format", type: "string", "field-id": 101 },
    {
      name: "partition",
      type: { type: "record", name: "r102", fields: [] },
      "field-id": 102,
    },
    { name: "record_count", type: "long", "field-id": 103 },
    { name: "file_size_in_bytes", type: "long", "field-id": 104 },
    {
      name: "lower_bounds",
      type: optional(mapById(126, "bytes")),
      default: null,
      "field-id": 125,
    },
    {
      name: "upper_bounds",
      type: optional(mapById(129, "bytes")),
      default: null,
      "field-id": 128,
    },
    { name: "sort_order_id", type: optional("int"), default: null, "field-id": 140 },
  ],
} as const;

export const MANIFEST_ENTRY = {
  type: "record",
  name: "manifest_entry",
  fields: [
    { name: "status", type: "int", "field-id": 0 },
    { name: "snapshot_id", type: optional("long"), default: null, "field-id": 1 },
    { name: "sequence_number", type: optional("long"), default: null, "field-id": 3 },
    { name: "file_sequence_number", type: optional("long"), default: null, "field-id": 4 },
    { name: "data_file", type: DATA_FILE, "field-id": 2 },
  ],
} as const;

export const MANIFEST_FILE = {
  type: "record",
  name: "manifest_file",
  fields: [
    { name: "manifest_path", type: "string", "field-id": 500 },
    { name: "manifest_length", type: "long", "field-id": 501 },
    { name: "partition_spec_id", type: "int", "field-id": 502 },
    { name: "content", type: "int", "field-id": 517 },
    { name: "sequence_number", type: "long", "field-id": 515 },
    { name: "min_sequence_number", type: "long", "field-id": 516 },
    { name: "added_snapshot_id", type: "long", "field-id": 503 },
    { name: "added_files_count", type: "int", "field-id": 504 },
    { name: "existing_files_count", type: "int", "field-id": 505 },
    { name: "deleted_files_count", type: "int", "field-id": 506 },
    { name: "added_rows_count", type: "long", "field-id": 512 },
    { name: "existing_rows_count", type: "long", "field-id": 513 },
    { name: "deleted_rows_count", type: "long", "field-id": 514 },
  ],
} as const;
