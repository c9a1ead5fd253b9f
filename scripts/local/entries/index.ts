// The main script's entry on one machine: the product's, and what runs agents in other processes.
export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";
export { IsolateBackend } from "./isolate-backend.ts";
export { IsolateProxy } from "./isolate-proxy.ts";
