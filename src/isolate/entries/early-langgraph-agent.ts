/** Entry of agents with LangGraph before 0.2.20. */
import { adaptEarly } from "../langgraph/early-langgraph.ts";
import { langGraphAgent } from "../langgraph/langgraph-agent.ts";

export const Agent = langGraphAgent(adaptEarly);
