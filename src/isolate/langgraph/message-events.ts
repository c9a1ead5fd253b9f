import { type BaseMessage, type BaseMessageChunk, isBaseMessage } from "@langchain/core/messages";
import type { RunCall, StreamMode } from "../contract.ts";
import { toWire } from "../wire.ts";

export type Emit = (event: string, data: string) => void;
type Metadata = Record<string, unknown>;
/** Chunk of LangGraph's stream mode `messages`. */
export type MessageChunk = [BaseMessage, Metadata];

/** Turns messages into events of the modes `messages` and `messages-tuple`. */
export class MessageEvents {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #hasNamespaces: boolean;
  readonly #emit: Emit;
  readonly #partials = new Map<string, BaseMessageChunk>();
  readonly #completed = new Set<string>();

  constructor(call: Pick<RunCall, "stream_modes" | "stream_subgraphs">, emit: Emit) {
    this.#modes = new Set(call.stream_modes);
    this.#hasNamespaces = call.stream_subgraphs;
    this.#emit = emit;
  }

  write(suffix: string, [message, metadata]: MessageChunk) {
    if (this.#modes.has("messages-tuple")) {
      const namespace = this.#hasNamespaces ? suffixOfTask(suffix, metadata) : "";
      this.#emit(`messages${namespace}`, toWire([message, metadata]));
    }
    if (!this.#modes.has("messages") || !message.id || !isChunk(message)) return;
    if (isOfNode(metadata)) return;
    const before = this.#partials.get(message.id);
    if (!before) this.#emit("messages/metadata", toWire({ [message.id]: { metadata } }));
    const partial = before ? before.concat(message) : message;
    this.#partials.set(message.id, partial);
    this.#emit("messages/partial", toWire([partial]));
  }

  /** Emits each message of the graph's values once, in the mode `messages`. */
  writeComplete(values: unknown) {
    if (!this.#modes.has("messages")) return;
    const fresh = messagesOf(values).filter(({ id }) => id && !this.#completed.has(id));
    if (fresh.length === 0) return;
    for (const { id } of fresh) this.#completed.add(id ?? "");
    this.#emit("messages/complete", toWire(fresh));
  }
}

/**
 * Returns the namespace suffix of an event, down to the node's task. LangGraph since 1.7 gives only that of the node's
 * graph.
 */
function suffixOfTask(suffix: string, { langgraph_checkpoint_ns: namespace }: Metadata): string {
  return typeof namespace === "string" && namespace !== "" ? `|${namespace}` : suffix;
}

/**
 * Whether a node returned the message without streaming it. Such a message is emitted as complete, once the state has
 * it.
 */
function isOfNode({ name, langgraph_node }: Metadata): boolean {
  return name !== undefined && name === langgraph_node;
}

function isChunk(message: BaseMessage): message is BaseMessageChunk {
  return "concat" in message && typeof message.concat === "function";
}

function messagesOf(values: unknown): BaseMessage[] {
  if (typeof values !== "object" || values === null || !("messages" in values)) return [];
  return Array.isArray(values.messages) ? values.messages.filter(isBaseMessage) : [];
}
