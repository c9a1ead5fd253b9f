import { type BaseMessage, type BaseMessageChunk, isBaseMessage } from "@langchain/core/messages";
import type { RunCall, StreamMode, ThreadSummary } from "../contract.ts";
import { toCheckpointPayload, toDebugEvent } from "../functions/debug-events.ts";
import { toWire } from "../wire.ts";
import { TaskEvents } from "./task-events.ts";

type Emit = (event: string, data: string) => void;
type Metadata = Record<string, unknown>;

/** What `streamEvents` of LangChain says, version 2. */
export type LangChainEvent = {
  event: string;
  run_id: string;
  tags?: string[];
  data: { chunk?: unknown };
};

/** Turns LangGraph's stream chunks into the server-sent events of the modes a client asked for. */
export class EventWriter {
  readonly #modes: ReadonlySet<StreamMode>;
  /** Null: tasks are told in full. */
  readonly #tasks: TaskEvents | null;
  readonly #emit: Emit;
  readonly #partials = new Map<string, BaseMessageChunk>();
  readonly #completed = new Set<string>();
  #skipValues: boolean;
  /** The newest values of the root, and their text once it was needed. */
  #values: { chunk: unknown; text: string | null } | null = null;
  #isInterrupted = false;

  constructor(call: Pick<RunCall, "stream_modes" | "resuming" | "short_forms">, emit: Emit) {
    this.#modes = new Set(call.stream_modes);
    this.#tasks = call.short_forms ? new TaskEvents() : null;
    this.#emit = emit;
    // A graph that goes on after a crash first repeats the values that were told before.
    this.#skipValues = call.resuming;
  }

  /**
   * The modes to ask the graph for. Values always: they say when a message is complete, and where
   * the thread stands at the end without reading its state again.
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

  /** Data that JSON cannot hold does not end the run: the event is told without it. */
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
      // LangGraph adds some to the events of subgraphs that nobody asked for.
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

  /** Where the thread stands after a run that went through; null when only its state can tell. */
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
      this.#tasks?.told(suffix, this.#textOf(values));
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
      this.#emit(`messages${suffix}`, toWire([message, metadata]));
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

/** A message that a node returned and no model streamed: it is told once it is in the state. */
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
