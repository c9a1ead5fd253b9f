import {
  CacheRoom,
  isMessage,
  knownText,
  kwargsOf,
  type Message,
  marksOf,
  rememberText,
} from "./message-texts.ts";

/** Depth of messages in the states of a history. `JSON.stringify` writes deeper values, whose texts are not cached. */
const DEPTH = 6;

/** Room in the cache for the messages of the value that `toWire` writes now. */
let room = new CacheRoom();

/** A message that `isMessage` does not recognize. The wire has the fields of `data` and the `type` in one object. */
type DictLike = { toDict(): { type: string; data: Record<string, unknown> } };

function isDictLike(value: unknown): value is DictLike {
  return (
    typeof value === "object" &&
    value !== null &&
    "toDict" in value &&
    typeof value.toDict === "function" &&
    ("_getType" in value || "lc_kwargs" in value)
  );
}

/**
 * Returns an agent's value as JSON text: a message as `{...fields, type}`, an error as `{error, message}`.
 * @throws UnserializableError for a BigInt, a cycle, or a `toJSON` that throws
 */
export function toWire(value: unknown): string {
  room = new CacheRoom();
  try {
    return write(value, DEPTH) ?? "null";
  } catch (error) {
    throw new UnserializableError(findUnserializable(value), { cause: error });
  }
}

function write(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null || depth === 0) return plainly(value);
  if (isMessage(value)) return writeMessage(value);
  if (Array.isArray(value)) {
    return writeList(value, depth);
  }
  const isOwn = Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value);
  return isOwn && !isDictLike(value) ? writeFields(value, depth) : plainly(value);
}

// Concatenates instead of `join`: V8 then copies each piece only once, into the final text.
function writeList(list: unknown[], depth: number): string {
  let text = "[";
  for (let n = 0; n < list.length; n++) {
    text += `${n > 0 ? "," : ""}${write(list[n], depth - 1) ?? "null"}`;
  }
  return `${text}]`;
}

function writeFields(value: object, depth: number): string {
  let text = "{";
  for (const [name, field] of Object.entries(value)) {
    const written = write(field, depth - 1);
    if (written !== undefined)
      text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:${written}`;
  }
  return `${text}}`;
}

function writeMessage(message: Message): string | undefined {
  const known = knownText(message, "wire");
  if (known !== undefined) return known;
  if (!room.isLeft) return plainly(fieldsOf(message));
  const marks = marksOf(message);
  const text = plainly(fieldsOf(message));
  if (text === undefined) return undefined;
  room.take(text);
  rememberText(message, marks, "wire", text);
  return text;
}

function fieldsOf(message: Message) {
  return { ...kwargsOf(message), type: message._getType() };
}

function plainly(value: unknown): string | undefined {
  return JSON.stringify(value, flatten);
}

class UnserializableError extends Error {
  override name = "UnserializableError";

  constructor(where: string, options?: ErrorOptions) {
    super(`The agent returned a value that is not JSON: ${where}. Return plain data.`, options);
  }
}

// JSON.stringify calls `toJSON` before the replacer; `this[key]` is still the original value.
function flatten(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (isMessage(original)) return fieldsOf(original);
  if (isDictLike(original)) {
    const { type, data } = original.toDict();
    return { ...data, type };
  }
  if (original instanceof Error) return { error: original.name, message: original.message };
  if (original instanceof Map) return Object.fromEntries(original);
  if (original instanceof Set) return [...original];
  return value;
}

function findUnserializable(value: unknown, path = "value", above: unknown[] = []): string {
  if (typeof value === "bigint") return `${path} is a BigInt`;
  if (typeof value !== "object" || value === null) return "";
  if (above.includes(value)) return `${path} refers back to itself`;
  for (const [key, child] of Object.entries(value)) {
    const found = findUnserializable(child, `${path}.${key}`, [...above, value]);
    if (found) return found;
  }
  return above.length === 0 ? `${path} cannot be written as JSON` : "";
}
