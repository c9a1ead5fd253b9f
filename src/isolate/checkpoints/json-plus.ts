import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { StoredValue, TypedValue } from "../checkpoint-contract.ts";
import {
  CacheRoom,
  isMessage,
  knownText,
  type Message,
  marksOf,
  rememberText,
} from "../message-texts.ts";
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

// Makes caches and in-memory savers of the agent's own code use the same format: their serializers have this prototype.
Object.assign(Object.getPrototypeOf(new MemorySaver().serde), serializer);

const PIECE_CHARACTERS = 1024 * 1024;

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

export function loadValue({ type, data }: TypedValue): Promise<unknown> {
  return serializer.loadsTyped(type, data);
}

async function dump(value: unknown): Promise<[type: string, data: Uint8Array]> {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isMessage)) {
    return serializer.dumpsTyped(value);
  }
  return ["json", encodePieces(messageTexts(value))];
}

function* messageTexts(messages: Message[]): Iterable<string> {
  const room = new CacheRoom();
  let before = "[";
  for (const message of messages) {
    yield before;
    yield knownText(message, "checkpoint") ?? dumpMessage(message, room);
    before = ",";
  }
  yield "]";
}

function dumpMessage(message: Message, room: CacheRoom): string {
  if (!room.isLeft) return toCheckpointJson(message);
  const marks = marksOf(message);
  const text = toCheckpointJson(message);
  room.take(text);
  rememberText(message, marks, "checkpoint", text);
  return text;
}

/** Encodes texts in pieces of at least 1 Mi characters. The whole text is never in memory, only its bytes. */
function encodePieces(texts: Iterable<string>): Uint8Array {
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  let text = "";
  for (const more of texts) {
    text += more;
    if (text.length < PIECE_CHARACTERS) continue;
    pieces.push(encoder.encode(text));
    text = "";
  }
  const last = encoder.encode(text);
  return pieces.length === 0 ? last : concat([...pieces, last]);
}

function concat(pieces: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
