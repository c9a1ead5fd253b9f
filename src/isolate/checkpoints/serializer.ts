import * as checkpoint from "@langchain/langgraph-checkpoint";
import { isMessage, kwargsOf, type Message } from "../message-texts.ts";

type Fields = Record<string, unknown>;

/** Maximum depth of a state: twice what a client may send, because reducers nest its data in some more levels. */
export const MAX_STATE_DEPTH = 1000;

/** Exported by the versions of langgraph-checkpoint that have delta channels. */
export const DeltaSnapshot = Reflect.get(checkpoint, "DeltaSnapshot") as
  | (new (
      value: unknown,
    ) => { value: unknown })
  | undefined;

const UNDEFINED = { lc: 2, type: "undefined" };

const CLASS_OF_TYPE: Record<string, string> = {
  human: "HumanMessage",
  ai: "AIMessage",
  system: "SystemMessage",
  tool: "ToolMessage",
  function: "FunctionMessage",
  generic: "ChatMessage",
  remove: "RemoveMessage",
};

/**
 * Writes a value in the format of LangGraph's serializer. Escapes a plain object that looks like a serialized instance,
 * so that `parseCheckpointJson` returns the same plain object. Writes "[Circular]" for an object within itself.
 * @throws RangeError for a value that is nested too deeply
 */
export function toCheckpointJson(value: unknown): string {
  return JSON.stringify(new Encoder().encode(value)) ?? JSON.stringify(UNDEFINED);
}

class Encoder {
  /** The objects around the current one. */
  readonly #above = new Set<object>();

  encode(value: unknown): unknown {
    if (value === undefined) return UNDEFINED;
    if (typeof value !== "object" || value === null) return value;
    if (isBoxed(value)) return value.valueOf();
    return this.#within(value, () => this.#encodeObject(value));
  }

  #within(value: object, encode: () => unknown): unknown {
    if (this.#above.has(value)) return "[Circular]";
    if (this.#above.size >= MAX_STATE_DEPTH) {
      throw new RangeError(
        `state: nested deeper than ${MAX_STATE_DEPTH} levels; store a flatter value`,
      );
    }
    this.#above.add(value);
    const encoded = encode();
    this.#above.delete(value);
    return encoded;
  }

  #encodeObject(value: object): unknown {
    if (Array.isArray(value)) return Array.from(value, (item) => this.encode(item));
    if (isMessage(value)) return this.#encodeMessage(value);
    const builtin = builtinArgs(value);
    if (builtin) {
      const [name, args] = builtin;
      return { lc: 2, type: "constructor", id: [name], method: null, args: this.encode(args) };
    }
    if (DeltaSnapshot && value instanceof DeltaSnapshot) {
      return { lc: 2, type: "delta_snapshot", value: this.encode(value.value) };
    }
    return this.#encodeFields(value);
  }

  #encodeMessage(message: Message): unknown {
    const base = CLASS_OF_TYPE[message._getType()];
    if (base === undefined) return this.#encodeFields(message);
    const name = isChunk(message) ? `${base}Chunk` : base;
    return {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", name],
      kwargs: this.encode(kwargsOf(message)),
    };
  }

  #encodeFields(value: object): unknown {
    const shown = "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
    if (typeof shown !== "object" || shown === null) return shown;
    if (Array.isArray(shown)) return Array.from(shown, (item) => this.encode(item));
    const fields = Object.fromEntries(
      Object.entries(withoutMarkOfSend(value, shown)).map(([key, field]) => [
        key,
        this.encode(field),
      ]),
    );
    const isMarked = Object.hasOwn(fields, "lc") || Object.hasOwn(fields, "__lc_escaped__");
    return isMarked ? { __lc_escaped__: fields } : fields;
  }
}

function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean;
}

/**
 * Whether the message is a chunk. Reads `lc_name`, which survives minification, and which an agent's classes inherit.
 */
function isChunk(message: Message): boolean {
  const { lc_name } = message.constructor as { lc_name?: () => string };
  return typeof lc_name === "function" && lc_name.call(message.constructor).endsWith("Chunk");
}

function builtinArgs(value: object): [name: string, args: unknown[]] | null {
  if (value instanceof Set) return ["Set", [[...value]]];
  if (value instanceof Map) return ["Map", [[...value]]];
  if (value instanceof RegExp) return ["RegExp", [value.source, value.flags]];
  if (value instanceof Error) return ["Error", [value.message]];
  if (value instanceof Uint8Array) return ["Uint8Array", [[...value]]];
  return null;
}

/** Omits `lg_name` of a `Send`, which LangGraph stores as `{ node, args }`. Keeps it in plain data of a client. */
function withoutMarkOfSend(original: object, shown: Fields): Fields {
  const isSend =
    "lg_name" in original &&
    original.lg_name === "Send" &&
    Object.getPrototypeOf(original) !== Object.prototype;
  if (!isSend) return shown;
  const { lg_name: _mark, ...fields } = shown;
  return fields;
}
