import { isMessage, knownText } from "../message-texts.ts";
import { leftOut, MAX_CHARACTERS } from "./long-payload.ts";

/** Depth of messages in `{ messages: [[message]] }`. `JSON.stringify` writes deeper values as a whole. */
const DEPTH = 4;

type Message = { toJSON(): unknown; content: unknown };
type Written = { fields: unknown[]; text: string };

/**
 * JSON text in pieces, of which each item of a list is one. `first`: index of the first item, -1 when no list has
 * items. `length`: characters of all pieces.
 */
export type Pieces = { texts: string[]; first: number; length: number };

/**
 * Writes any value as JSON text: tracing never fails a run, so a text replaces a value that JSON cannot hold. Writes a
 * message again only in a later batch, and only when its fields have changed.
 */
export class TraceJson {
  readonly #written = new WeakMap<object, Written>();
  /** Texts of the messages of the current batch. Messages do not change within a batch. */
  #fresh = new Map<object, string>();

  write(value: unknown): string {
    return this.cut(value).texts.join("");
  }

  cut(value: unknown): Pieces {
    const pieces = { texts: [], first: -1, length: 0 };
    if (isPlainRecord(value)) this.#cutFields(value, pieces);
    else add(pieces, this.#write(value, DEPTH) ?? "null");
    if (pieces.length <= MAX_CHARACTERS) return pieces;
    return { texts: [JSON.stringify(leftOut(pieces.length))], first: -1, length: 0 };
  }

  /** Ends the batch: messages may change afterwards. */
  endBatch() {
    this.#fresh = new Map();
  }

  #cutFields(value: object, pieces: Pieces) {
    let before = "{";
    for (const [name, field] of Object.entries(value)) {
      const text = Array.isArray(field) ? undefined : this.#write(field, DEPTH - 1);
      if (text === undefined && !Array.isArray(field)) continue;
      add(pieces, `${before}${JSON.stringify(name)}:${text ?? ""}`);
      if (Array.isArray(field)) this.#cutList(field, DEPTH - 1, pieces);
      before = ",";
    }
    add(pieces, before === "{" ? "{}" : "}");
  }

  #cutList(list: unknown[], depth: number, pieces: Pieces) {
    add(pieces, "[");
    for (const [n, item] of list.entries()) {
      if (n > 0) add(pieces, ",");
      this.#cutItem(item, depth - 1, pieces);
    }
    add(pieces, "]");
  }

  #cutItem(item: unknown, depth: number, pieces: Pieces) {
    if (Array.isArray(item) && depth > 0) return this.#cutList(item, depth, pieces);
    if (pieces.first < 0) pieces.first = pieces.texts.length;
    add(pieces, this.#write(item, depth) ?? "null");
  }

  #write(value: unknown, depth: number): string | undefined {
    if (typeof value !== "object" || value === null || depth === 0) return stringify(value);
    if (isSerializable(value)) return this.#message(value);
    if (Array.isArray(value)) {
      // Not `map`: it skips the holes of a sparse array.
      return `[${Array.from(value, (item) => this.#write(item, depth - 1) ?? "null").join()}]`;
    }
    return isPlain(value) ? this.#fields(value, depth) : stringify(value);
  }

  #fields(value: object, depth: number): string {
    const fields = Object.entries(value).flatMap(([name, field]) => {
      const text = this.#write(field, depth - 1);
      return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
    });
    return `{${fields.join()}}`;
  }

  #message(message: Message): string | undefined {
    const fresh = this.#fresh.get(message);
    if (fresh !== undefined) return fresh;
    const text = this.#messageText(message);
    if (text !== undefined) this.#fresh.set(message, text);
    return text;
  }

  // Reuses the text of a checkpoint, unless it has records (`lc: 2`) in place of values that are not JSON.
  #messageText(message: Message): string | undefined {
    const stored = isMessage(message) ? knownText(message, "checkpoint") : undefined;
    if (stored !== undefined && !stored.includes('"lc":2')) return stored;
    const fields = Object.values(message);
    const before = this.#written.get(message);
    // Compares fields: a reducer may add a message's id later.
    if (before && isSame(before.fields, fields)) return before.text;
    const text = stringify(message);
    if (text !== undefined) this.#written.set(message, { fields, text });
    return text;
  }
}

function isSame(before: unknown[], now: unknown[]): boolean {
  return before.length === now.length && now.every((field, n) => Object.is(field, before[n]));
}

function isSerializable(value: object): value is Message {
  return (
    "lc_kwargs" in value &&
    "content" in value &&
    "toJSON" in value &&
    typeof value.toJSON === "function"
  );
}

function add(pieces: Pieces, text: string) {
  pieces.texts.push(text);
  pieces.length += text.length;
}

function isPlainRecord(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !isSerializable(value) && isPlain(value);
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, plain);
  } catch {
    return stringifyWithoutCycles(value);
  }
}

function stringifyWithoutCycles(value: unknown): string {
  try {
    return JSON.stringify(value, withoutCycles()) ?? "null";
  } catch (error) {
    return JSON.stringify({ left_out: String(error) });
  }
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return { error: value.name, message: value.message };
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

function withoutCycles() {
  const above: unknown[] = [];
  return function (this: unknown, key: string, value: unknown): unknown {
    const shown = plain(key, value);
    if (typeof shown !== "object" || shown === null) return shown;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(shown)) return "[refers back to itself]";
    above.push(shown);
    return shown;
  };
}
