import type { RunCall, StreamMode } from "./contract.ts";
import type { FunctionState, Message } from "./function-state.ts";
import type { Outbox } from "./outbox.ts";
import { toWire } from "./wire.ts";

/** The events of a plain agent, in the shapes that a graph of one node would give. */
export class FunctionEvents {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #node: string;
  readonly #outbox: Outbox;
  #told = 0;

  constructor(call: Pick<RunCall, "stream_modes" | "graph_id">, outbox: Outbox) {
    this.#modes = new Set(call.stream_modes);
    this.#node = call.graph_id;
    this.#outbox = outbox;
  }

  start(state: FunctionState) {
    this.#emit("values", "values", state.values);
    this.#complete(state.messages);
  }

  update(update: unknown, state: FunctionState) {
    this.#emit("updates", "updates", { [this.#node]: update });
    for (const message of state.messages.slice(this.#told)) {
      this.#emit("messages-tuple", "messages", [message, { langgraph_node: this.#node }]);
    }
    this.#emit("values", "values", state.values);
    this.#complete(state.messages);
  }

  #complete(messages: Message[]) {
    const fresh = messages.slice(this.#told);
    this.#told = messages.length;
    if (fresh.length > 0) this.#emit("messages", "messages/complete", fresh);
  }

  #emit(mode: StreamMode, event: string, data: unknown) {
    if (this.#modes.has(mode)) this.#outbox.push({ op: "event", event, data: toWire(data) });
  }
}
