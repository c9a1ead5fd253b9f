import type { RunCall, StreamMode } from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { toWire } from "../wire.ts";
import type { FunctionMessage, FunctionState } from "./function-state.ts";
import { FunctionTask } from "./function-task.ts";

const TASK_MODES: StreamMode[] = ["debug", "tasks", "checkpoints", "events"];

/** Emits the events of a plain agent, in the shapes of a graph with one node. */
export class FunctionEvents {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #node: string;
  readonly #outbox: Outbox;
  /** `null` when no requested mode needs it. */
  readonly #task: FunctionTask | null;
  /**
   * Ids of messages that were emitted as complete. A message that is replaced, or added again, is not emitted again.
   */
  readonly #emitted = new Set<string>();

  constructor(call: RunCall, outbox: Outbox) {
    const implied: StreamMode[] = call.short_forms ? ["checkpoints"] : [];
    this.#modes = new Set([...call.stream_modes, ...implied]);
    this.#node = call.graph_id;
    this.#outbox = outbox;
    const isNeeded = TASK_MODES.some((mode) => this.#modes.has(mode));
    this.#task = isNeeded
      ? new FunctionTask(call, (mode, data) => this.#emit(mode, mode, data))
      : null;
  }

  start(state: FunctionState) {
    this.#task?.beginRun(state);
    this.#emit("values", "values", state.values);
    this.#complete(state.messages);
    this.#task?.beginTask(state);
  }

  update(update: Record<string, unknown>, state: FunctionState) {
    this.#task?.addUpdate(update);
    this.#emit("updates", "updates", { [this.#node]: update });
    for (const message of this.#freshOf(state.messages)) {
      this.#emit("messages-tuple", "messages", [message, { langgraph_node: this.#node }]);
    }
    this.#emit("values", "values", state.values);
    this.#complete(state.messages);
  }

  end(state: FunctionState) {
    this.#task?.endTaskAndRun(state);
  }

  fail(error: unknown) {
    this.#task?.fail(error);
  }

  #complete(messages: FunctionMessage[]) {
    const fresh = this.#freshOf(messages);
    for (const { id } of fresh) this.#emitted.add(id);
    if (fresh.length > 0) this.#emit("messages", "messages/complete", fresh);
  }

  #freshOf(messages: FunctionMessage[]): FunctionMessage[] {
    return messages.filter(({ id }) => !this.#emitted.has(id));
  }

  #emit(mode: StreamMode, event: string, data: unknown) {
    if (this.#modes.has(mode)) this.#outbox.push({ op: "event", event, data: toWire(data) });
  }
}
