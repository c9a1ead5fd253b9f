// Caches the text of each message: every step writes the conversation again.

/** Maximum of the texts that one read or write of a state adds to the cache. It bounds the memory of a large state. */
const MAX_CACHED_CHARACTERS = 4 * 1024 * 1024;

/** Counts the texts that are cached while one state is written or read. */
export class CacheRoom {
  #left = MAX_CACHED_CHARACTERS;

  get isLeft(): boolean {
    return this.#left > 0;
  }

  take(text: string) {
    this.#left -= text.length;
  }
}

/** `checkpoint`: the form in checkpoints. `wire`: the flattened form for clients. */
type Kind = "checkpoint" | "wire";
/** `marks`: the values that determine the texts. */
type Written = { marks: unknown[]; texts: Partial<Record<Kind, string>> };
export type Message = {
  lc_kwargs: Record<string, unknown>;
  _getType(): string;
};

/**
 * Returns the constructor arguments that make an equal message. `toJSON` is not used: its escaping differs between
 * versions of core, and for an argument named like a method or getter it writes that instead of the argument.
 */
export function kwargsOf(message: Message): Record<string, unknown> {
  const own = message as unknown as Record<string, unknown>;
  const kwargs = Object.fromEntries(
    Object.entries(message.lc_kwargs).map(([key, value]) => {
      const isField = Object.hasOwn(own, key) && !key.startsWith("lc_");
      // The only argument that LangChain names differently in JSON.
      return [key === "contentBlocks" ? "content_blocks" : key, isField ? own[key] : value];
    }),
  );
  // The reducer of LangGraph before 0.2.9 sets the id of the message only.
  if (typeof own.id === "string") kwargs.id = own.id;
  return kwargs;
}

/** Fields that `eachMark` skips: the first two are constant, and it marks `lc_kwargs` key by key. */
const CONSTANT = new Set(["lc_namespace", "lc_serializable", "lc_kwargs"]);

/** Constructor that returns its argument, so that subclasses add their fields to it. */
function given(value: object) {
  return value;
}
const Given = given as unknown as new (value: object) => object;

/**
 * Stores the texts in a private field of the message: a WeakMap of a thousand messages costs the garbage collector more
 * than the texts.
 */
class Noted extends Given {
  #written: Written | undefined;

  static of(message: object): Written | undefined {
    return #written in message ? message.#written : undefined;
  }

  static set(message: object, written: Written | undefined) {
    if (#written in message) message.#written = written;
    else if (Object.isExtensible(message)) Noted.set(new Noted(message), written);
  }
}

export function isMessage(value: unknown): value is Message {
  if (typeof value !== "object" || value === null || !("lc_kwargs" in value)) return false;
  return "_getType" in value && typeof value._getType === "function" && isPlain(value.lc_kwargs);
}

/** Returns the cached text. @returns `undefined` when there is none, or when the message has changed since */
export function knownText(message: Message, kind: Kind): string | undefined {
  const before = Noted.of(message);
  if (before?.texts[kind] === undefined) return undefined;
  return isUnchanged(message, before.marks) ? before.texts[kind] : undefined;
}

/** `marks`: those of the message before `text` was written. `null` deletes the cached texts. */
export function rememberText(message: Message, marks: unknown[] | null, kind: Kind, text: string) {
  const before = Noted.of(message);
  if (!marks) Noted.set(message, undefined);
  else if (before && isUnchanged(message, before.marks)) before.texts[kind] = text;
  else Noted.set(message, { marks, texts: { [kind]: text } });
}

/** Caches both texts of a new message, unless changes of the message would go unnoticed. */
export function rememberTexts(message: Message, texts: Record<Kind, string>) {
  const marks = marksOf(message);
  if (marks) Noted.set(message, { marks, texts });
}

/** Returns the values that determine the text, `null` when changes would go unnoticed. */
export function marksOf(message: Message): unknown[] | null {
  const marks: unknown[] = [];
  return eachMark(message, (mark) => marks.push(mark) > 0) ? marks : null;
}

function isUnchanged(message: Message, marks: unknown[]): boolean {
  let at = 0;
  return eachMark(message, (mark) => Object.is(mark, marks[at++])) && at === marks.length;
}

/** Returns `false` when `see` returned it, or when a value has no mark. */
function eachMark(message: Message, see: (mark: unknown) => boolean): boolean {
  const own = message as unknown as Record<string, unknown>;
  const { lc_kwargs } = message;
  for (const key of Object.keys(own)) {
    if (!CONSTANT.has(key) && !seeValue(own[key], see)) return false;
  }
  for (const key of Object.keys(lc_kwargs)) {
    const value = lc_kwargs[key];
    if (!see(key) || (value !== own[key] && !seeValue(value, see))) return false;
  }
  return true;
}

/**
 * Marks a plain object by itself and by its JSON, because its content may change. Returns `false` for an object that is
 * not plain.
 */
function seeValue(value: unknown, see: (mark: unknown) => boolean): boolean {
  if (typeof value !== "object" || value === null) return see(value);
  if (!isPlain(value) || !see(value)) return false;
  if (isEmpty(value)) return see("");
  const text = plainText(value);
  return text !== null && see(text);
}

function isEmpty(value: object): boolean {
  for (const _key in value) return false;
  return true;
}

function plainText(value: object): string | null {
  try {
    return JSON.stringify(value, assertPlain);
  } catch {
    return null;
  }
}

function assertPlain(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (typeof original !== "object" || original === null || isPlain(original)) return value;
  throw new TypeError("An object that is not plain has no mark.");
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}
