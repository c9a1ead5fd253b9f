import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
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
