import { type BaseMessage, type BaseMessageChunk, isBaseMessage } from "@langchain/core/messages";
import type { RunCall, StreamMode } from "./contract.ts";
import { toCheckpointPayload, toDebugEvent } from "./debug-events.ts";
import { toWire } from "./wire.ts";

type Emit = (event: string, data: string) => void;

/** Turns LangGraph's stream chunks into the server-sent events of the modes a client asked for. */
export class EventWriter {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #emit: Emit;
  readonly #partials = new Map<string, BaseMessageChunk>();
  readonly #completed = new Set<string>();
  #skipValues: boolean;

  constructor(call: Pick<RunCall, "stream_modes" | "resuming">, emit: Emit) {
    this.#modes = new Set(call.stream_modes);
    this.#emit = emit;
    // A graph that goes on after a crash first repeats the values that were told before.
    this.#skipValues = call.resuming;
  }

  /** The modes to ask the graph for: messages needs values too, to know when one is complete. */
  get graphModes(): (
    | "values"
    | "updates"
    | "messages"
    | "custom"
    | "debug"
    | "tasks"
    | "checkpoints"
  )[] {
    const modes = [...this.#modes].map((mode) => (mode === "messages-tuple" ? "messages" : mode));
    if (this.#modes.has("messages")) modes.push("values");
    return [...new Set(modes)];
  }

  write(ns: string[], mode: string, chunk: unknown) {
    const suffix = ns.length > 0 ? `|${ns.join("|")}` : "";
    switch (mode) {
      case "messages":
        return this.#writeMessage(suffix, chunk as [BaseMessage, Record<string, unknown>]);
      case "values":
        return this.#writeValues(suffix, chunk);
      case "debug":
        return this.#emit(`debug${suffix}`, toWire(toDebugEvent(chunk)));
      case "checkpoints":
        return this.#emit(`checkpoints${suffix}`, toWire(toCheckpointPayload(chunk)));
      default:
        return this.#emit(`${mode}${suffix}`, toWire(chunk));
    }
  }

  #writeValues(suffix: string, values: unknown) {
    if (this.#skipValues && suffix === "") {
      this.#skipValues = false;
      return;
    }
    if (this.#modes.has("values")) this.#emit(`values${suffix}`, toWire(values));
    if (!this.#modes.has("messages") || suffix !== "") return;
    const fresh = messagesOf(values).filter(({ id }) => id && !this.#completed.has(id));
    if (fresh.length === 0) return;
    for (const { id } of fresh) this.#completed.add(id ?? "");
    this.#emit("messages/complete", toWire(fresh));
  }

  #writeMessage(suffix: string, [message, metadata]: [BaseMessage, Record<string, unknown>]) {
    if (this.#modes.has("messages-tuple")) {
      this.#emit(`messages${suffix}`, toWire([message, metadata]));
    }
    if (!this.#modes.has("messages") || !message.id || !isChunk(message)) return;
    const before = this.#partials.get(message.id);
    if (!before) this.#emit("messages/metadata", toWire({ [message.id]: { metadata } }));
    const partial = before ? before.concat(message) : message;
    this.#partials.set(message.id, partial);
    this.#emit("messages/partial", toWire([partial]));
  }
}

function isChunk(message: BaseMessage): message is BaseMessageChunk {
  return "concat" in message && typeof message.concat === "function";
}

function messagesOf(values: unknown): BaseMessage[] {
  if (typeof values !== "object" || values === null || !("messages" in values)) return [];
  return Array.isArray(values.messages) ? values.messages.filter(isBaseMessage) : [];
}
