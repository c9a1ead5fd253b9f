import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { StoredValue, Typed } from "../contract.ts";
import { isMessage, knownText, type Message, marksOf, rememberText } from "../message-texts.ts";
import { parseCheckpointJson } from "./revive.ts";
import { toCheckpointJson } from "./serializer.ts";

/** The serializer of checkpoints, with the types and the format of LangGraph's own. */
export const serializer: SerializerProtocol = {
  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value instanceof Uint8Array) return ["bytes", value];
    return ["json", new TextEncoder().encode(toCheckpointJson(value))];
  },

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    const isText = typeof data === "string";
    if (type === "bytes") return isText ? new TextEncoder().encode(data) : data;
    if (type === "json") return parseCheckpointJson(isText ? data : new TextDecoder().decode(data));
    throw new Error(`Unknown serialization type: ${type}`);
  },
};

// Caches and in-memory savers that an agent makes itself share the prototype of LangGraph's serializer.
Object.assign(Object.getPrototypeOf(new MemorySaver().serde), serializer);

export type Versions = Record<string, number>;

/** Serializes the channels that have a new version. */
export function dumpValues(
  channel_values: Record<string, unknown>,
  versions: Versions,
): Promise<StoredValue[]> {
  const changed = Object.entries(versions).filter(([channel]) => channel in channel_values);
  return Promise.all(
    changed.map(async ([channel, version]): Promise<StoredValue> => {
      const [type, data] = await dump(channel_values[channel]);
      return { channel, version, type, data };
    }),
  );
}

export function loadValue({ type, data }: Typed): Promise<unknown> {
  return serializer.loadsTyped(type, data);
}

async function dump(value: unknown): Promise<[type: string, data: Uint8Array]> {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isMessage)) {
    return serializer.dumpsTyped(value);
  }
  const texts: string[] = [];
  for (const message of value) {
    texts.push(knownText(message, "checkpoint") ?? (await dumpMessage(message)));
  }
  return ["json", new TextEncoder().encode(`[${texts.join()}]`)];
}

async function dumpMessage(message: Message): Promise<string> {
  const marks = marksOf(message);
  const [, data] = await serializer.dumpsTyped(message);
  const text = new TextDecoder().decode(data);
  rememberText(message, marks, "checkpoint", text);
  return text;
}
