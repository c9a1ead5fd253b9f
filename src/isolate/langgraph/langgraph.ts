import type { Pregel } from "@langchain/langgraph";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import type { ServerRuntime } from "../agent/engine.ts";
import type { HostSaver } from "../checkpoints/saver.ts";
import type { WireConfig } from "../contract.ts";

// biome-ignore lint/suspicious/noExplicitAny: Pregel is invariant in parameters only the agent knows
export type Graph = Pregel<any, any>;

/**
 * Opens an export as a compiled graph: awaits it, calls a factory with config and runtime, compiles a builder, and
 * unwraps the result of `createAgent`.
 * @throws Error when the result is not a graph of LangGraph
 */
export async function openGraph(
  graph_id: string,
  exported: unknown,
  config: WireConfig,
  runtime: ServerRuntime,
): Promise<Graph> {
  let graph = await exported;
  if (typeof graph === "function") {
    graph = await graph({ ...config, configurable: config.configurable ?? {} }, runtime);
  }
  if (hasMethod(graph, "compile")) graph = await graph.compile();
  if (isObject(graph) && !("nodes" in graph) && isGraph(graph.graph)) graph = graph.graph;
  if (isGraph(graph)) return graph;
  throw new Error(
    `Graph "${graph_id}" is not a LangGraph graph. Export a compiled graph, a StateGraph, ` +
      "a function that returns one, or an async generator.",
  );
}

/** Copies the graph with this call's saver and store: concurrent runs share the graph only. */
export function withSaver(graph: Graph, saver: HostSaver, store: BaseStore): Graph {
  const Compiled = graph.constructor as new (fields: object) => Graph;
  return new Compiled({ ...graph, checkpointer: saver, store, autoValidate: false });
}

/**
 * Returns the context of a run. Without a given one it is empty, as in other servers.
 * @returns `undefined` when the graph has its own default, or its schema rejects an empty context
 */
export async function contextOfRun(graph: Graph, given: unknown): Promise<Given | undefined> {
  // The graph's schema validates a given context.
  if (given !== null && given !== undefined) return given as Given;
  const { config, _validateContext: validate } = graph as unknown as Validated;
  if (config?.context !== undefined) return undefined;
  try {
    await validate?.call(graph, {});
    return {};
  } catch {
    return undefined;
  }
}

type Given = Record<string, unknown>;

/** Private fields of LangGraph. */
type Validated = {
  config?: { context?: unknown };
  _validateContext?: (context: object) => Promise<unknown>;
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function hasMethod<K extends string>(value: unknown, name: K): value is Record<K, () => unknown> {
  return isObject(value) && typeof value[name] === "function";
}

function isGraph(value: unknown): value is Graph {
  return hasMethod(value, "stream") && hasMethod(value, "getState");
}
