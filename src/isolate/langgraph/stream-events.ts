import { createHash } from "node:crypto";
import type { UntrackedChannels } from "../checkpoints/untracked-channels.ts";
import type { RunCall, StreamMode, ThreadSummary } from "../contract.ts";
import { toCheckpointPayload, toDebugEvent } from "../functions/debug-events.ts";
import { isSameInput } from "../tracing/sanitize-fields.ts";
import { toWire } from "../wire.ts";
import { type Emit, type MessageChunk, MessageEvents } from "./message-events.ts";

/** Modes that LangGraph itself has. */
type GraphMode = Exclude<StreamMode, "events" | "messages-tuple">;

/** Event of LangChain's `streamEvents`, version 2. */
export type LangChainEvent = {
  event: string;
  run_id: string;
  tags?: string[];
  data: { chunk?: unknown };
};

/** Values of a graph. `text`: their JSON once it was needed, unless it is long. */
type Values = { chunk: unknown; text: string | null };

/** The summary writes a longer text again: to keep it would take as much memory as the values. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

/** Turns LangGraph's stream chunks into server-sent events of the requested modes. */
export class EventWriter {
  readonly #modes: ReadonlySet<StreamMode>;
  /** `null` when tasks are emitted in full. */
  readonly #tasks: TaskEvents | null;
  readonly #emit: Emit;
  readonly #untracked: UntrackedChannels;
  readonly #messages: MessageEvents;
  /**
   * SHA-256 of the values that an earlier attempt emitted last. A resumed graph may repeat them first: equal ones are
   * skipped. `null` skips the first values in any case, `undefined` skips none.
   */
  #skipped: string | null | undefined;
  /** Newest root values. */
  #values: Values | null = null;
  #isInterrupted = false;

  constructor(
    call: Pick<
      RunCall,
      "stream_modes" | "stream_subgraphs" | "resuming" | "emitted_values_sha256" | "short_forms"
    >,
    emit: Emit,
    untracked: UntrackedChannels,
  ) {
    this.#modes = new Set(call.stream_modes);
    this.#tasks = call.short_forms ? new TaskEvents(untracked.toWire) : null;
    this.#emit = emit;
    this.#untracked = untracked;
    this.#messages = new MessageEvents(call, emit);
    if (call.resuming) this.#skipped = call.emitted_values_sha256 ?? null;
  }

  /**
   * Returns the modes of the graph's stream. Always includes values, which complete messages and
   * give the final summary without another read.
   */
  get graphModes(): GraphMode[] {
    const modes = [...this.#modes].flatMap((mode) => {
      if (mode === "events") return [];
      return mode === "messages-tuple" ? ["messages" as const] : [mode];
    });
    return [...new Set([...modes, "values" as const])];
  }

  get wantsEvents(): boolean {
    return this.#modes.has("events");
  }

  /** Emits an event, without its data when JSON cannot hold them. Omits hidden events. */
  writeEvent(event: LangChainEvent) {
    if (event.tags?.includes("langsmith:hidden")) return;
    this.#emit("events", wireOr(event, { ...event, data: {} }));
  }

  write(ns: string[], mode: string, chunk: unknown) {
    const suffix = ns.length > 0 ? `|${ns.join("|")}` : "";
    const { toWire } = this.#untracked;
    switch (mode) {
      case "messages":
        return this.#messages.write(suffix, chunk as MessageChunk);
      case "values":
        return this.#writeValues(suffix, chunk);
      // LangGraph may stream this mode of subgraphs although it was not requested.
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

  /** Returns the summary after a completed run. @returns `null` when it must be read from the state */
  get summary(): ThreadSummary | null {
    if (!this.#values || this.#isInterrupted) return null;
    const { chunk } = this.#values;
    const stored = this.#untracked.omitFrom(chunk);
    const values = stored === chunk ? this.#textOf(this.#values) : toWire(stored);
    return { values, next: [], interrupts: "{}" };
  }

  #writeCheckpoint(suffix: string, chunk: unknown) {
    const { toWire } = this.#untracked;
    if (this.#tasks) return this.#emit(`checkpoints${suffix}`, toWire(chunk));
    if (!this.#modes.has("checkpoints")) return;
    this.#emit(`checkpoints${suffix}`, toWire(toCheckpointPayload(chunk)));
  }

  #writeValues(suffix: string, chunk: unknown) {
    const values: Values = { chunk, text: null };
    // LangGraph may stream a breakpoint of a subgraph in the namespace of the subgraph alone.
    if (isInterrupted(chunk)) this.#isInterrupted = true;
    else if (suffix === "") this.#values = values;
    if (suffix === "" && this.#isSkipped(values)) return;
    if (this.#modes.has("values")) {
      this.#emit(`values${suffix}`, this.#textOf(values));
      this.#tasks?.setEmitted(suffix, chunk);
    }
    if (suffix === "") this.#messages.writeComplete(chunk);
  }

  /** Compares the values, because an attempt may end after a checkpoint and before the event of its values. */
  #isSkipped(values: Values): boolean {
    const skipped = this.#skipped;
    this.#skipped = undefined;
    if (typeof skipped !== "string") return skipped === null;
    return createHash("sha256").update(this.#textOf(values)).digest("hex") === skipped;
  }

  #textOf(values: Values): string {
    const text = values.text ?? this.#untracked.toWire(values.chunk);
    if (text.length <= MAX_KEPT_CHARACTERS) values.text = text;
    return text;
  }
}

function isInterrupted(chunk: unknown): boolean {
  return typeof chunk === "object" && chunk !== null && "__interrupt__" in chunk;
}

function wireOr(value: unknown, instead: unknown): string {
  try {
    return toWire(value);
  } catch {
    return toWire(instead);
  }
}

/**
 * Events of tasks in the v2 protocol. Most nodes receive the state that was just emitted: their events
 * refer to it.
 */
class TaskEvents {
  /** Last emitted values of each graph. */
  readonly #values = new Map<string, unknown>();
  readonly #toWire: (value: unknown) => string;

  constructor(toWire: (value: unknown) => string) {
    this.#toWire = toWire;
  }

  setEmitted(graph: string, values: unknown) {
    this.#values.set(graph, values);
  }

  textOf(graph: string, chunk: unknown): string {
    const toWire = this.#toWire;
    if (typeof chunk !== "object" || chunk === null) return toWire(chunk);
    if (!("input" in chunk)) {
      if ("name" in chunk && "id" in chunk) this.#forget(`${graph}|${chunk.name}:${chunk.id}`);
      return toWire(chunk);
    }
    const { input, ...task } = chunk;
    const isKnown = isSameInput(this.#values.get(graph), input);
    return `${toWire(task).slice(0, -1)},${isKnown ? '"input_is":"values"' : `"input":${toWire(input)}`}}`;
  }

  /** Drops the values of the graphs within a task that has ended: each call of a subgraph is another graph. */
  #forget(task: string) {
    for (const graph of this.#values.keys()) {
      if (graph === task || graph.startsWith(`${task}|`)) this.#values.delete(graph);
    }
  }
}
