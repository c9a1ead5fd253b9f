/** Entry of agents without LangGraph: every graph is a plain function or generator. */
import { agentClass } from "../agent/agent.ts";
import { FunctionEngine } from "../functions/function-engine.ts";
import { isPlainFunction } from "../functions/plain-function.ts";
import { exportedGraph, graphIds } from "../modules/graphs.ts";

export const Agent = agentClass(graphIds, async (graph_id) => {
  const { value, description } = await exportedGraph(graph_id);
  if (isPlainFunction(value)) return new FunctionEngine(graph_id, value, description);
  throw new Error(
    `Graph "${graph_id}" is neither a function nor a LangGraph graph. Export an async function or ` +
      `generator, or add "@langchain/langgraph" to the dependencies in package.json.`,
  );
});
