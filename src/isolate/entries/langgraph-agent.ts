/** Entry of agents that use LangGraph: graphs, factories of graphs, and generators beside them. */
import { agentClass } from "../agent/agent.ts";
import { FunctionEngine, isGenerator } from "../functions/function-engine.ts";
import { exportedGraph, graphIds } from "../graphs.ts";
import { openGraph } from "../langgraph/langgraph.ts";
import { LangGraphEngine } from "../langgraph/langgraph-engine.ts";

// A plain function of a LangGraph project is a graph factory, as in LangGraph's servers.
export const Agent = agentClass(graphIds, async (graph_id, config, runtime) => {
  const { value, description } = exportedGraph(graph_id);
  if (isGenerator(value)) return new FunctionEngine(graph_id, value, description);
  const graph = await openGraph(graph_id, value, config, runtime);
  return new LangGraphEngine(graph_id, graph, description);
});
