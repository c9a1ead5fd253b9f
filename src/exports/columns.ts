import { AppError } from "../shared/errors.ts";

/** `text` is UTF-8, `texts` a list of such texts, `timestamp` UTC in microseconds. */
export type ColumnType = "text" | "texts" | "boolean" | "timestamp" | "integer" | "double";

export type Column = {
  /** Field id in Parquet and Iceberg. Never changes and is never reused: tables find columns by it. */
  id: number;
  name: string;
  type: ColumnType;
  /** Column of a scan, or a constant of the file. */
  source: Source;
  /** Whether texts are JSON. */
  isJson?: true;
  /** Whether values repeat, so that a dictionary saves space. */
  dictionary?: true;
  /** Whether row groups have its minimum and maximum, by which readers skip them. */
  statistics?: true;
  /** Parser of a list's text. Default: a JSON array. */
  items?: (text: string) => readonly (string | null)[];
  /** Source of the only item of a list whose own source is null. The list is empty when both are null. */
  fallback?: Scanned;
};

/** Sources with one value in all rows of an export. */
type Constant = "tenant_id" | "session_id";
type Source = Scanned | Constant;

type Scanned =
  | ("id" | "trace_id" | "parent_run_id" | "reference_example_id" | "dotted_order")
  | ("name" | "run_type" | "status" | "is_root" | "trace_tier" | "error" | "tags")
  | ("start_us" | "end_us" | "first_token_us")
  | ("inputs" | "outputs" | "extra" | "events" | "feedback_stats")
  | ("total_tokens" | "prompt_tokens" | "completion_tokens")
  | ("total_cost" | "prompt_cost" | "completion_cost");

const text = (id: number, name: Source): Column => ({ id, name, type: "text", source: name });
const json = (id: number, name: Source): Column => ({ ...text(id, name), isJson: true });
const word = (id: number, name: Source): Column => ({ ...text(id, name), dictionary: true });
const integer = (id: number, name: Scanned): Column => ({
  id,
  name,
  type: "integer",
  source: name,
});
const double = (id: number, name: Scanned): Column => ({ id, name, type: "double", source: name });
const timestamp = (id: number, name: string, source: Scanned): Column => ({
  id,
  name,
  type: "timestamp",
  source,
});

/** Exportable fields in the order of a file's columns. */
export const COLUMNS: readonly Column[] = [
  text(1, "id"),
  word(2, "tenant_id"),
  word(3, "session_id"),
  text(4, "trace_id"),
  text(5, "parent_run_id"),
  {
    id: 6,
    name: "parent_run_ids",
    type: "texts",
    source: "dotted_order",
    items: ancestorsOf,
    fallback: "parent_run_id",
  },
  word(7, "reference_example_id"),
  word(8, "name"),
  word(9, "run_type"),
  { ...timestamp(10, "start_time", "start_us"), statistics: true },
  timestamp(11, "end_time", "end_us"),
  word(12, "status"),
  { id: 13, name: "is_root", type: "boolean", source: "is_root" },
  text(14, "dotted_order"),
  word(15, "trace_tier"),
  json(16, "inputs"),
  json(17, "outputs"),
  text(18, "error"),
  json(19, "extra"),
  json(20, "events"),
  { id: 21, name: "tags", type: "texts", source: "tags" },
  json(22, "feedback_stats"),
  integer(23, "total_tokens"),
  integer(24, "prompt_tokens"),
  integer(25, "completion_tokens"),
  double(26, "total_cost"),
  double(27, "prompt_cost"),
  double(28, "completion_cost"),
  timestamp(29, "first_token_time", "first_token_us"),
];

/** Distance from the id of a list to the id of its elements. Columns have lower ids. */
const ELEMENT_ID_OFFSET = 1000;

export function elementId({ id }: Column): number {
  return ELEMENT_ID_OFFSET + id;
}

const ID_CHARS = 36;

/** Returns the ids from the root to the parent. Each segment of a dotted order ends with the id of a run. */
function ancestorsOf(dotted_order: string): string[] {
  const ids: string[] = [];
  for (let at = dotted_order.indexOf("."); at !== -1; at = dotted_order.indexOf(".", at + 1)) {
    ids.push(dotted_order.slice(at - ID_CHARS, at).toLowerCase());
  }
  return ids;
}

/** Returns the named columns in file order. `null` selects all. */
export function selectColumns(export_fields: readonly string[] | null): readonly Column[] {
  if (export_fields === null) return COLUMNS;
  const wanted = new Set(export_fields);
  const columns = COLUMNS.filter(({ name }) => wanted.delete(name));
  if (wanted.size > 0) {
    const names = [...wanted].join(", ");
    throw new AppError("invalid_request", `export_fields: no such field: ${names}`);
  }
  if (columns.length === 0)
    throw new AppError("invalid_request", "export_fields must have at least one field");
  return columns;
}

/** Returns the columns that a scan must read. */
export function sourcesOf(columns: readonly Column[]): Scanned[] {
  const sources = columns.flatMap(({ source, fallback }) => [
    source,
    ...(fallback ? [fallback] : []),
  ]);
  return [...new Set(sources)].filter((source): source is Scanned => !isConstant(source));
}

function isConstant(source: Source): source is Constant {
  return source === "tenant_id" || source === "session_id";
}
