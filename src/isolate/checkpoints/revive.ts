import * as library from "@langchain/core/messages";
import { CacheRoom, isMessage, type Message, rememberTexts } from "../message-texts.ts";
import { DeltaSnapshot, MAX_STATE_DEPTH } from "./serializer.ts";

type Fields = Record<string, unknown>;
type MessageClass = new (fields: Fields) => Message & Fields;
type MessageName = (typeof NAMES)[number];

/** The only classes of LangChain that stored data may name. With a core that lacks one, its records stay data. */
const NAMES = [
  "HumanMessage",
  "HumanMessageChunk",
  "AIMessage",
  "AIMessageChunk",
  "SystemMessage",
  "SystemMessageChunk",
  "ToolMessage",
  "ToolMessageChunk",
  "FunctionMessage",
  "FunctionMessageChunk",
  "ChatMessage",
  "ChatMessageChunk",
  "RemoveMessage",
] as const;

const CLASSES = new Map<unknown, MessageClass>(
  NAMES.flatMap((name) => {
    const found: unknown = Reflect.get(library, name);
    return typeof found === "function" ? [[name, found as unknown as MessageClass]] : [];
  }),
);

/** Room in the cache for the messages of the state that is parsed now. */
let room = new CacheRoom();

/**
 * Parses the JSON of a checkpoint. Only messages and the values of LangGraph's serializer (`lc: 2`)
 * become instances. Every other object with `lc` stays plain data: LangChain's `load` would construct
 * any class of its library with arguments from a client, and old versions also read secrets.
 */
export function parseCheckpointJson(text: string): unknown {
  room = new CacheRoom();
  return revive(JSON.parse(text), 0);
}

/** Changes the parsed JSON in place: an own key `__proto__` is assigned like any other. */
function revive(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_STATE_DEPTH) return value;
  if (Array.isArray(value)) {
    for (let n = 0; n < value.length; n++) value[n] = revive(value[n], depth + 1);
    return value;
  }
  const record = value as Fields;
  const escaped = escapedRecord(record);
  if (escaped) return reviveFields(escaped, depth);
  return toInstance(reviveFields(record, depth));
}

function reviveFields(record: Fields, depth: number): Fields {
  for (const key of Object.keys(record)) record[key] = revive(record[key], depth + 1);
  return record;
}

function escapedRecord(record: Fields): Fields | null {
  if (!Object.hasOwn(record, "__lc_escaped__") || Object.keys(record).length !== 1) return null;
  return isRecord(record.__lc_escaped__) ? record.__lc_escaped__ : null;
}

function toInstance(record: Fields): unknown {
  if (!Object.hasOwn(record, "lc")) return record;
  if (record.lc === 1) return toMessage(record);
  if (record.lc !== 2) return record;
  if (record.type === "undefined") return undefined;
  if (record.type === "delta_snapshot") return toSnapshot(record);
  return record.type === "constructor" ? toBuiltin(record) : record;
}

function toSnapshot(record: Fields): unknown {
  return DeltaSnapshot && Object.hasOwn(record, "value") ? new DeltaSnapshot(record.value) : record;
}

/** Returns an instance of the class that the record names, or the record when the class refuses its arguments. */
function toBuiltin(record: Fields): unknown {
  const { id, args } = record;
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return record;
  const [first, second] = args;
  const make = Object.hasOwn(BUILTINS, id[0]) ? BUILTINS[id[0] as keyof typeof BUILTINS] : null;
  try {
    return make?.(first, second) ?? record;
  } catch {
    return record;
  }
}

const BUILTINS = {
  Set: (items: unknown) => (Array.isArray(items) ? new Set(items) : null),
  Map: (entries: unknown) => (isEntries(entries) ? new Map(entries) : null),
  RegExp: (source: unknown, flags: unknown) =>
    typeof source === "string" && typeof flags === "string" ? new RegExp(source, flags) : null,
  Error: (message: unknown) => (typeof message === "string" ? new Error(message) : null),
  Uint8Array: (bytes: unknown) =>
    Array.isArray(bytes) && bytes.every(isByte) ? new Uint8Array(bytes) : null,
};

function isEntries(value: unknown): value is [unknown, unknown][] {
  return Array.isArray(value) && value.every((entry) => Array.isArray(entry) && entry.length === 2);
}

function isByte(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}

function toMessage(record: Fields): unknown {
  const { type, id, kwargs } = record;
  if (type !== "constructor" || !Array.isArray(id) || id.length !== 3) return record;
  const [package_name, module, name] = id;
  const Class = CLASSES.get(name);
  if (package_name !== "langchain_core" || module !== "messages" || !Class) return record;
  return isRecord(kwargs) ? newMessage(name as MessageName, Class, kwargs) : record;
}

function newMessage(name: MessageName, Class: MessageClass, kwargs: Fields): Message {
  if (!room.isLeft) return construct(Class, kwargs);
  const text = JSON.stringify(kwargs);
  const count = Object.keys(kwargs).length;
  const message = construct(Class, kwargs);
  // Caches the text only when it has all fields that the constructor kept, no `type`, and no record of the serializer.
  const isWhole =
    count > 0 && Object.keys(message.lc_kwargs).length === count && !("type" in kwargs);
  if (!isWhole || !isMessage(message) || /"(lc|__lc_escaped__)":/.test(text)) return message;
  const id = `["langchain_core","messages","${name}"]`;
  room.take(text);
  rememberTexts(message, {
    checkpoint: `{"lc":1,"type":"constructor","id":${id},"kwargs":${text}}`,
    wire: `${text.slice(0, -1)},"type":"${message._getType()}"}`,
  });
  return message;
}

/**
 * Makes a message. When the constructor refuses the stored fields, assigns them to an empty message: the state must
 * stay readable.
 */
function construct(Class: MessageClass, kwargs: Fields): Message & Fields {
  const { content_blocks, ...others } = kwargs;
  try {
    return new Class(
      content_blocks === undefined ? kwargs : { ...others, contentBlocks: content_blocks },
    );
  } catch {
    const message = new Class({ content: "", id: "", name: "", role: "", tool_call_id: "" });
    for (const [key, value] of Object.entries(kwargs)) {
      const isField = Object.hasOwn(message, key) && !key.startsWith("lc_") && key !== "type";
      if (isField) (message as Fields)[key] = value;
    }
    return Object.assign(message, { lc_kwargs: kwargs });
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
