import { AsyncBatchedStore, type BaseStore } from "@langchain/langgraph-checkpoint";
import { HostStore } from "../agent/store.ts";
import type { Host } from "../contract.ts";

// The store that LangGraph puts before every other one asks a timer of no length, over and over for as
// long as a run lasts, whether there is something to send; and it loses the index of a put. Ours
// gathers what is asked by itself, so the one before it only hands on.
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
