import type { RunCall, StreamMode } from "../contract.ts";
import { toCheckpointPayload } from "./debug-events.ts";
import { type FunctionState, isUpdate, stepOf } from "./function-state.ts";

type Fields = Record<string, unknown>;
type Task = { id: string; step: number; metadata: Fields };
type Waiting = { id: string; name: string; path: string[]; interrupts: [] };
type Emit = (mode: StreamMode, data: unknown) => void;

/**
 * Emits the only task of a plain agent's run and the checkpoints around it, in the shapes of a
 * graph with one node.
 */
export class FunctionTask {
  readonly #call: RunCall;
  readonly #emit: Emit;
  readonly #eventId = crypto.randomUUID();
  #task: Task | null = null;
  #result: Fields = {};

  constructor(call: RunCall, emit: Emit) {
    this.#call = call;
    this.#emit = emit;
  }

  beginRun(state: FunctionState) {
    this.#event("on_chain_start", { input: this.#call.input });
    this.#shortCheckpoint(state);
  }

  beginTask(state: FunctionState) {
    const { graph_id: name, input } = this.#call;
    const id = taskId(state);
    const [step, path, triggers] = [stepOf(state) + 1, ["__pregel_pull", name], triggersOf(name)];
    this.#task = { id, step, metadata: taskMetadata(name, id, step) };
    this.#checkpoint(state, [{ id, name, path, interrupts: [] }]);
    this.#eventOfTask("on_chain_start", { input });
    const metadata = { ...this.#metadata(), ...this.#tags() };
    const event = { id, name, input, triggers, interrupts: [], metadata };
    this.#emit("tasks", event);
    this.#debug("task", step, event);
  }

  addUpdate(update: Fields) {
    this.#result = merged(this.#result, update);
  }

  endTaskAndRun(state: FunctionState) {
    if (!this.#task) return;
    const { input } = this.#call;
    const [result, output] = [this.#result, state.values];
    this.#eventOfTask("on_chain_end", { output: result, input });
    this.#emitResult(this.#task, result, null);
    this.#shortCheckpoint(state);
    this.#checkpoint(state, []);
    this.#event("on_chain_end", { output });
  }

  /** Emits a failed task like LangGraph: without its writes. */
  fail(error: unknown) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    if (this.#task) this.#emitResult(this.#task, {}, { name, message });
  }

  #emitResult({ id, step }: Task, result: Fields, error: Fields | null) {
    const event = { id, name: this.#call.graph_id, result, interrupts: [], error };
    this.#emit("tasks", event);
    this.#debug("task_result", step, event);
  }

  /** Emits a checkpoint in the form of the v2 protocol, whose clients receive no other. */
  #shortCheckpoint({ checkpoint_id: id, parent_id, metadata }: FunctionState) {
    if (!this.#call.short_forms) return;
    const { source, step } = metadata;
    this.#emit("checkpoints", { id, ...(parent_id !== null && { parent_id }), step, source });
  }

  #checkpoint({ values, checkpoint_id, parent_id, metadata }: FunctionState, tasks: Waiting[]) {
    if (this.#call.short_forms) return;
    const { source, step, parents } = metadata;
    const next = tasks.map(({ name }) => name);
    const payload = toCheckpointPayload({
      values,
      metadata: { source, step, parents },
      next,
      config: this.#config(checkpoint_id),
      ...(parent_id !== null && { parentConfig: this.#config(parent_id) }),
      tasks,
    });
    this.#emit("checkpoints", payload);
    this.#debug("checkpoint", Number(step), payload);
  }

  #debug(type: string, step: number, payload: unknown) {
    this.#emit("debug", { step, type, timestamp: new Date().toISOString(), payload });
  }

  #event(event: string, data: Fields) {
    const { graph_id: name, run_id, config } = this.#call;
    const metadata = { ...this.#metadata(), ...this.#thread(), checkpoint_ns: "" };
    this.#emit("events", { event, data, name, tags: config.tags ?? [], run_id, metadata });
  }

  #eventOfTask(event: string, data: Fields) {
    if (!this.#task) return;
    const { step, metadata: ofTask } = this.#task;
    const { graph_id: name, config } = this.#call;
    const tags = [`graph:step:${step}`, ...(config.tags ?? [])];
    const metadata = { ...this.#metadata(), ...this.#thread(), ...ofTask };
    this.#emit("events", { event, data, name, tags, run_id: this.#eventId, metadata });
  }

  #config(checkpoint_id: string | null): Fields {
    const { config } = this.#call;
    const metadata = { ...this.#metadata(), ...this.#thread(), checkpoint_ns: "" };
    const configurable = { ...config.configurable, ...this.#thread(), checkpoint_ns: "" };
    return {
      metadata,
      recursion_limit: config.recursion_limit ?? RECURSION_LIMIT,
      ...this.#tags(),
      configurable: { ...configurable, checkpoint_id },
    };
  }

  #metadata(): Fields {
    return { ...this.#call.config.metadata, run_id: this.#call.run_id };
  }

  #thread(): Fields {
    return { thread_id: this.#call.thread_id };
  }

  #tags(): Fields {
    const { tags } = this.#call.config;
    return tags ? { tags } : {};
  }
}

/** Default of LangGraph; a plain agent has only one step. */
const RECURSION_LIMIT = 25;

/** Derives the task's id from the checkpoint's id, as a UUID of version 5: later attempts get the same id. */
function taskId({ checkpoint_id }: FunctionState): string {
  return `${checkpoint_id?.slice(0, 14)}5${checkpoint_id?.slice(15)}`;
}

function triggersOf(node: string): string[] {
  return [`branch:to:${node}`];
}

function taskMetadata(node: string, task_id: string, step: number): Fields {
  const ns = `${node}:${task_id}`;
  return {
    checkpoint_ns: ns,
    langgraph_step: step,
    langgraph_node: node,
    langgraph_triggers: triggersOf(node),
    langgraph_path: ["__pregel_pull", node],
    langgraph_checkpoint_ns: ns,
  };
}

/** Merges an update into the result of the task. The result has all yields of the function. */
function merged(result: Fields, update: Fields): Fields {
  if (!isUpdate(update) || update.messages === undefined) return { ...result, ...update };
  const messages = [result.messages ?? [], update.messages].flat();
  return { ...result, ...update, messages };
}
