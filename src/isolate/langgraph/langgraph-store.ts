import { AsyncBatchedStore, type BaseStore } from "@langchain/langgraph-checkpoint";
import { HostStore } from "../agent/store.ts";
import type { Host } from "../contract.ts";

// Bypasses LangGraph's batching store, which polls with a timer during a run and drops the index of
// a put. HostStore batches by itself.
type Methods = Record<
  string,
  (this: { store: HostStore; running: boolean }, ...args: never[]) => unknown
>;

const handedOn = ["get", "search", "put", "delete", "listNamespaces", "batch"] as const;
const prototype = AsyncBatchedStore.prototype as unknown as Methods;

for (const name of handedOn) {
  prototype[name] = function (...args) {
    const method = this.store[name] as (...args: never[]) => unknown;
    return method.apply(this.store, args);
  };
}
prototype.start = function () {
  this.running = true;
};

export function storeFor(host: Host): BaseStore {
  return new HostStore(host) as unknown as BaseStore;
}
