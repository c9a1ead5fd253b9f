import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { historyText } from "../checkpoints/history.ts";
import type { HostSaver } from "../checkpoints/saver.ts";
import { type Snapshot, toThreadState } from "../checkpoints/snapshot.ts";
import type { HistoryCall, UpdateCall } from "../contract.ts";
import { type Graph, withSaver } from "./langgraph.ts";
import { toStateConfig, toStateUpdate } from "./langgraph-config.ts";

export async function readState(
  graph: Graph,
  config: ReturnType<typeof toStateConfig>,
  subgraphs = false,
): Promise<Snapshot> {
  return leniently(
    graph,
    (readable) => readable.getState(config, { subgraphs }) as Promise<Snapshot>,
  );
}

export async function readHistory(
  graph: Graph,
  call: HistoryCall,
  write: (state: unknown) => string,
): Promise<string> {
  const history = graph.getStateHistory(toStateConfig(call), {
    limit: call.limit,
    ...(call.before_id && { before: { configurable: { checkpoint_id: call.before_id } } }),
    ...(call.metadata && { filter: call.metadata }),
  });
  const states = async function* () {
    for await (const snapshot of history) yield toThreadState(snapshot as Snapshot);
  };
  return historyText(states(), write);
}

/** Updates the state. LangGraph before 0.2.57 has no `bulkUpdateState`: there, each update is a superstep. */
export async function updateState(graph: Graph, call: UpdateCall): Promise<RunnableConfig> {
  const config = toStateConfig(call);
  const supersteps = call.supersteps.map((updates) => ({ updates: updates.map(toStateUpdate) }));
  const { bulkUpdateState }: Partial<Pick<Graph, "bulkUpdateState">> = graph;
  if (bulkUpdateState) return bulkUpdateState.call(graph, config, supersteps);
  let next: RunnableConfig = config;
  for (const { values, asNode } of supersteps.flatMap(({ updates }) => updates)) {
    next = await graph.updateState(next, values as Record<string, unknown>, asNode);
  }
  return next;
}

/** Reads again without pending updates when a read fails: a reducer may reject one of them. */
export async function leniently<T>(graph: Graph, read: (graph: Graph) => Promise<T>): Promise<T> {
  try {
    return await read(graph);
  } catch (error) {
    const saver = (graph.checkpointer as HostSaver).withoutUpdates();
    const readable = withSaver(graph, saver, graph.store as BaseStore);
    return read(readable).catch(() => Promise.reject(error));
  }
}
