import type { RunCall, StreamMode } from "../contract.ts";
import { toCheckpointPayload } from "./debug-events.ts";
import { type FunctionState, isUpdate, stepOf } from "./function-state.ts";

type Fields = Record<string, unknown>;
type Task = { id: string; step: number; place: Fields };
type Waiting = { id: string; name: string; path: string[]; interrupts: [] };
type Tell = (mode: StreamMode, data: unknown) => void;

/**
 * The one task of a run of a plain agent and the checkpoints around it, as `debug`, `tasks`, `checkpoints` and
 * `events` tell of them where a graph has one node.
 */
export class FunctionTask {
  readonly #call: RunCall;
  readonly #tell: Tell;
  readonly #event_id = crypto.randomUUID();
  #task: Task | null = null;
  #result: Fields = {};

  constructor(call: RunCall, tell: Tell) {
    this.#call = call;
    this.#tell = tell;
  }

  begin(state: FunctionState) {
    this.#event("on_chain_start", { input: this.#call.input });
    if (this.#call.short_forms) this.#envelope(state);
  }

  start(state: FunctionState) {
    const { graph_id: name, input } = this.#call;
    const id = taskId(state);
    const [step, path, triggers] = [stepOf(state) + 1, ["__pregel_pull", name], triggersOf(name)];
    this.#task = { id, step, place: placeOf(name, id, step) };
    this.#checkpoint(state, [{ id, name, path, interrupts: [] }]);
    this.#eventOfTask("on_chain_start", { input });
    const metadata = { ...this.#metadata(), ...this.#tags() };
    const told = { id, name, input, triggers, interrupts: [], metadata };
    this.#tell("tasks", told);
    this.#debug("task", step, told);
  }

  take(update: Fields) {
    this.#result = merged(this.#result, update);
  }

  end(state: FunctionState) {
    if (!this.#task) return;
    const { input } = this.#call;
    const [result, output] = [this.#result, state.values];
    this.#eventOfTask("on_chain_end", { output: result, input });
    this.#over(this.#task, result);
    if (this.#call.short_forms) this.#envelope(state);
    this.#checkpoint(state, []);
    this.#event("on_chain_end", { output });
  }

  /** As LangGraph tells of a task that failed: without what it has said before. */
  fail() {
    if (this.#task) this.#over(this.#task, {});
  }

  #over({ id, step }: Task, result: Fields) {
    const told = { id, name: this.#call.graph_id, result, interrupts: [] };
    this.#tell("tasks", told);
    this.#debug("task_result", step, told);
  }

  /** The short form, which comes before the values. */
  #envelope({ checkpoint_id: id, parent_id, metadata }: FunctionState) {
    const { source, step } = metadata;
    this.#tell("checkpoints", { id, ...(parent_id !== null && { parent_id }), step, source });
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
    this.#tell("checkpoints", payload);
    this.#debug("checkpoint", Number(step), payload);
  }

  #debug(type: string, step: number, payload: unknown) {
    this.#tell("debug", { step, type, timestamp: new Date().toISOString(), payload });
  }

  #event(event: string, data: Fields) {
    const { graph_id: name, run_id, config } = this.#call;
    const metadata = { ...this.#metadata(), ...this.#thread(), checkpoint_ns: "" };
    this.#tell("events", { event, data, name, tags: config.tags ?? [], run_id, metadata });
  }

  #eventOfTask(event: string, data: Fields) {
    if (!this.#task) return;
    const { step, place } = this.#task;
    const { graph_id: name, config } = this.#call;
    const tags = [`graph:step:${step}`, ...(config.tags ?? [])];
    const metadata = { ...this.#metadata(), ...this.#thread(), ...place };
    this.#tell("events", { event, data, name, tags, run_id: this.#event_id, metadata });
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

/** LangGraph's own; a plain agent has no second step that it could end. */
const RECURSION_LIMIT = 25;

/** Of the checkpoint before it, so that a later attempt tells of the same task. */
function taskId({ checkpoint_id }: FunctionState): string {
  return `${checkpoint_id?.slice(0, 14)}5${checkpoint_id?.slice(15)}`;
}

function triggersOf(node: string): string[] {
  return [`branch:to:${node}`];
}

function placeOf(node: string, task_id: string, step: number): Fields {
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

/** All that a run has yielded is what its task has written. */
function merged(result: Fields, update: Fields): Fields {
  if (!isUpdate(update) || update.messages === undefined) return { ...result, ...update };
  const messages = [result.messages ?? [], update.messages].flat();
  return { ...result, ...update, messages };
}
