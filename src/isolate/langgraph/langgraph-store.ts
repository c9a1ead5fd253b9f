import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { HostStore } from "../agent/store.ts";
import { StoreError } from "../agent/store-operations.ts";
import type { Host } from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { AsyncBatchedStore, InvalidNamespaceError } from "./library.ts";
import type { Reading } from "./reading.ts";

// Replaces the methods of LangGraph's batching store: it polls with a timer during a run, and drops the index of a put.
// HostStore batches by itself.
type Methods = Record<
  string,
  (this: { store: HostStore; running: boolean }, ...args: never[]) => unknown
>;

const delegated = ["get", "search", "put", "delete", "listNamespaces", "batch"] as const;
const prototype = (AsyncBatchedStore?.prototype ?? {}) as Methods;

for (const name of delegated) {
  prototype[name] = function (...args) {
    const method = this.store[name] as (...args: never[]) => unknown;
    return method.apply(this.store, args);
  };
}
prototype.start = function () {
  this.running = true;
  if (this.store instanceof RunStore) this.store.begin();
};
// LangGraph stops the store of a graph before it closes or fails the graph's stream.
prototype.stop = async function () {
  this.running = false;
  if (this.store instanceof RunStore) await this.store.end();
};

class LangGraphStore extends HostStore {
  protected override toThrown(error: unknown): unknown {
    const isOfNamespace = error instanceof StoreError && error.isOfNamespace;
    return isOfNamespace && InvalidNamespaceError
      ? new InvalidNamespaceError(error.message)
      : super.toThrown(error);
  }
}

/** Store of a run. LangGraph awaits `stop`, which calls `end`: the run's graph ends only after its stream is read. */
class RunStore extends LangGraphStore {
  readonly #reading: Reading;
  readonly #outbox: Outbox;
  /** Number of graphs in progress: the run's graph and its subgraphs. */
  #graphs = 0;

  constructor(host: Host, reading: Reading, outbox: Outbox) {
    super(host);
    this.#reading = reading;
    this.#outbox = outbox;
  }

  begin() {
    this.#graphs += 1;
  }

  async end() {
    this.#graphs -= 1;
    if (this.#graphs === 0) await this.#outbox.holdDuring(this.#reading.caughtUp());
  }
}

export function storeFor(host: Host): BaseStore {
  return new LangGraphStore(host) as unknown as BaseStore;
}

export function storeOfRun(host: Host, reading: Reading, outbox: Outbox): BaseStore {
  return new RunStore(host, reading, outbox) as unknown as BaseStore;
}
