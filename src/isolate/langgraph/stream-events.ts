import { type BaseMessage, type BaseMessageChunk, isBaseMessage } from "@langchain/core/messages";
import type { RunCall, StreamMode, ThreadSummary } from "../contract.ts";
import { toCheckpointPayload, toDebugEvent } from "../functions/debug-events.ts";
import { toWire } from "../wire.ts";
import { TaskEvents } from "./task-events.ts";

type Emit = (event: string, data: string) => void;
type Metadata = Record<string, unknown>;

/** Event of LangChain's `streamEvents`, version 2. */
export type LangChainEvent = {
  event: string;
  run_id: string;
  tags?: string[];
  data: { chunk?: unknown };
};

/** Turns LangGraph's stream chunks into server-sent events of the requested modes. */
export class EventWriter {
  readonly #modes: ReadonlySet<StreamMode>;
  /** `null` when tasks are emitted in full. */
  readonly #tasks: TaskEvents | null;
  readonly #emit: Emit;
  readonly #hasNamespaces: boolean;
  readonly #partials = new Map<string, BaseMessageChunk>();
  readonly #completed = new Set<string>();
  #skipValues: boolean;
  /** Newest root values, and their JSON once needed. */
  #values: { chunk: unknown; text: string | null } | null = null;
  #isInterrupted = false;

  constructor(
    call: Pick<RunCall, "stream_modes" | "stream_subgraphs" | "resuming" | "short_forms">,
    emit: Emit,
  ) {
    this.#hasNamespaces = call.stream_subgraphs;
    this.#modes = new Set(call.stream_modes);
    this.#tasks = call.short_forms ? new TaskEvents() : null;
    this.#emit = emit;
    // A resumed graph first repeats values that the earlier attempt emitted.
    this.#skipValues = call.resuming;
  }

  /**
   * Returns the modes of the graph's stream. Always includes values, which complete messages and
   * give the final summary without another read.
   */
  get graphModes(): (
    | "values"
    | "updates"
    | "messages"
    | "custom"
    | "debug"
    | "tasks"
    | "checkpoints"
    | "tools"
  )[] {
    const modes = [...this.#modes].flatMap((mode) => {
      if (mode === "events") return [];
      return mode === "messages-tuple" ? ["messages" as const] : [mode];
    });
    return [...new Set([...modes, "values" as const])];
  }

  get wantsEvents(): boolean {
    return this.#modes.has("events");
  }

  /** Emits the event without its data when JSON cannot hold it. */
  writeEvent(event: LangChainEvent) {
    if (event.tags?.includes("langsmith:hidden")) return;
    this.#emit("events", wireOr(event, { ...event, data: {} }));
  }

  write(ns: string[], mode: string, chunk: unknown) {
    const suffix = ns.length > 0 ? `|${ns.join("|")}` : "";
    switch (mode) {
      case "messages":
        return this.#writeMessage(suffix, chunk as [BaseMessage, Metadata]);
      case "values":
        return this.#writeValues(suffix, chunk);
      // LangGraph adds modes to events of subgraphs.
      case "checkpoints":
        return this.#writeCheckpoint(suffix, chunk);
      case "tasks":
        return this.#emit(`tasks${suffix}`, this.#tasks?.textOf(suffix, chunk) ?? toWire(chunk));
      case "debug":
        return this.#emit(`debug${suffix}`, toWire(toDebugEvent(chunk)));
      default:
        return this.#emit(`${mode}${suffix}`, toWire(chunk));
    }
  }

  /** Returns the summary after a completed run, `null` when only the state has it. */
  get summary(): ThreadSummary | null {
    if (!this.#values || this.#isInterrupted) return null;
    return { values: this.#textOf(this.#values), next: [], interrupts: "{}" };
  }

  #writeCheckpoint(suffix: string, chunk: unknown) {
    if (this.#tasks) return this.#emit(`checkpoints${suffix}`, toWire(chunk));
    if (!this.#modes.has("checkpoints")) return;
    this.#emit(`checkpoints${suffix}`, toWire(toCheckpointPayload(chunk)));
  }

  #writeValues(suffix: string, chunk: unknown) {
    const values = { chunk, text: null };
    if (suffix === "") this.#remember(values);
    if (this.#skipValues && suffix === "") {
      this.#skipValues = false;
      return;
    }
    if (this.#modes.has("values")) {
      this.#emit(`values${suffix}`, this.#textOf(values));
      this.#tasks?.setEmitted(suffix, this.#textOf(values));
    }
    if (this.#modes.has("messages") && suffix === "") this.#writeComplete(chunk);
  }

  #remember(values: { chunk: unknown; text: string | null }) {
    const { chunk } = values;
    if (typeof chunk === "object" && chunk !== null && "__interrupt__" in chunk) {
      this.#isInterrupted = true;
    } else this.#values = values;
  }

  #textOf(values: { chunk: unknown; text: string | null }): string {
    values.text ??= toWire(values.chunk);
    return values.text;
  }

  #writeComplete(values: unknown) {
    const fresh = messagesOf(values).filter(({ id }) => id && !this.#completed.has(id));
    if (fresh.length === 0) return;
    for (const { id } of fresh) this.#completed.add(id ?? "");
    this.#emit("messages/complete", toWire(fresh));
  }

  #writeMessage(suffix: string, [message, metadata]: [BaseMessage, Metadata]) {
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
}

/**
 * Ends the suffix with the node's task, as before LangGraph 1.7, where it ends with the node's
 * graph.
 */
function suffixOfTask(suffix: string, { langgraph_checkpoint_ns: namespace }: Metadata): string {
  return typeof namespace === "string" && namespace !== "" ? `|${namespace}` : suffix;
}

/**
 * Whether a node returned the message without streaming it: it is emitted once it is in the state.
 */
function isOfNode({ name, langgraph_node }: Metadata): boolean {
  return name !== undefined && name === langgraph_node;
}

function wireOr(value: unknown, instead: unknown): string {
  try {
    return toWire(value);
  } catch {
    return toWire(instead);
  }
}

function isChunk(message: BaseMessage): message is BaseMessageChunk {
  return "concat" in message && typeof message.concat === "function";
}

function messagesOf(values: unknown): BaseMessage[] {
  if (typeof values !== "object" || values === null || !("messages" in values)) return [];
  return Array.isArray(values.messages) ? values.messages.filter(isBaseMessage) : [];
}
