/** Entry of agents that use LangGraph: graphs, factories of graphs, and generators beside them. */
import { langGraphAgent } from "../langgraph/langgraph-agent.ts";

export const Agent = langGraphAgent();
