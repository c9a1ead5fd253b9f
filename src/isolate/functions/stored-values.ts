import type { LoadedCheckpoint, StoredValue } from "../checkpoint-contract.ts";

type Fields = Record<string, unknown>;

/** Types of LangChain's messages by the class that LangGraph stores. */
const TYPES: Record<string, string> = {
  HumanMessage: "human",
  AIMessage: "ai",
  SystemMessage: "system",
  ToolMessage: "tool",
  FunctionMessage: "function",
  ChatMessage: "generic",
  RemoveMessage: "remove",
};

/** Internal channels of a graph, which are not part of its state. */
const CONTROL_CHANNEL = /^(__|branch:|join:|start:)/;

/**
 * Returns the values of a checkpoint as plain JSON. A graph may have written the checkpoint on the same thread. Its
 * messages get the form of the wire without LangChain, which an agent of plain functions does not have.
 */
export function readValues({ checkpoint, values }: LoadedCheckpoint): Fields {
  if (!isOfGraph(checkpoint)) return fieldsOf(values, parse);
  const visible = values.filter(({ channel }) => !CONTROL_CHANNEL.test(channel));
  return fieldsOf(visible, (value) => toPlain(parse(value)));
}

/** LangGraph notes the versions that its input and each node have seen; a plain function has no nodes. */
function isOfGraph(checkpoint: string): boolean {
  return Object.keys(JSON.parse(checkpoint).versions_seen ?? {}).length > 0;
}

function fieldsOf(values: StoredValue[], read: (value: StoredValue) => unknown): Fields {
  const fields = values.map((value) => [value.channel, read(value)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function parse({ type, data }: StoredValue): unknown {
  return type === "bytes" ? [...data] : JSON.parse(new TextDecoder().decode(data));
}

function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  if (!isRecord(value)) return value;
  const { __lc_escaped__: escaped } = value;
  // The serializer wraps data of clients in the form of its records.
  if (isRecord(escaped) && Object.keys(value).length === 1) return toPlainFields(escaped);
  const fields = toPlainFields(value);
  if (fields.lc === 1) return toMessage(fields);
  return fields.lc === 2 ? toPlainRecord(fields) : fields;
}

function toPlainFields(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, toPlain(value)]));
}

function toMessage(record: Fields): unknown {
  const { id, kwargs } = record;
  const name = Array.isArray(id) && id[1] === "messages" ? String(id[2]) : "";
  const type = TYPES[name.replace(/Chunk$/, "")];
  return type !== undefined && isRecord(kwargs) ? { ...kwargs, type } : record;
}

/** Returns the content of a record of the serializer. A record of another form stays unchanged. */
function toPlainRecord(record: Fields): unknown {
  const { type, id, args, value } = record;
  if (type === "undefined") return undefined;
  if (type === "delta_snapshot") return value;
  const [name] = Array.isArray(id) ? id : [];
  const [content] = Array.isArray(args) ? args : [];
  if (name === "Set" || name === "Uint8Array") return content;
  if (name === "Map" && isEntries(content)) return Object.fromEntries(content);
  return name === "Error" ? { error: "Error", message: content } : record;
}

function isEntries(value: unknown): value is [string, unknown][] {
  return Array.isArray(value) && value.every(Array.isArray);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
