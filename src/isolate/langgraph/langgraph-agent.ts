import { agentClass } from "../agent/agent.ts";
import { FunctionEngine } from "../functions/function-engine.ts";
import { isGenerator } from "../functions/plain-function.ts";
import { exportedGraph, graphIds } from "../modules/graphs.ts";
import { type Graph, openGraph } from "./langgraph.ts";
import { LangGraphEngine } from "./langgraph-engine.ts";

/**
 * Builds the entrypoint class of agents with graphs, and perhaps generators beside them.
 * @param adapt adds what graphs of an early LangGraph lack
 */
export function langGraphAgent(adapt = (graph: Graph) => graph) {
  // A plain function of a LangGraph project is a graph factory, as in LangGraph's servers.
  return agentClass(graphIds, async (graph_id, config, runtime) => {
    const { value, description } = await exportedGraph(graph_id);
    if (isGenerator(value)) return new FunctionEngine(graph_id, value, description);
    const graph = await openGraph(graph_id, value, config, runtime);
    return new LangGraphEngine(graph_id, adapt(graph), description);
  });
}
