import ajv from "../../../../dist/isolate/ajv.txt";
import early_langgraph_agent from "../../../../dist/isolate/early-langgraph-agent.txt";
import globals from "../../../../dist/isolate/globals.txt";
import langgraph_agent from "../../../../dist/isolate/langgraph-agent.txt";
import plain_agent from "../../../../dist/isolate/plain-agent.txt";
import tailwind from "../../../../dist/styles/tailwind.txt";

/**
 * Texts of the modules that run an agent. The builder loads them into the isolate of each build. An artifact has one of
 * the three agents, and the globals. Those with the SDK of the Model Context Protocol have the replacement of Ajv too.
 */
export const HARNESS = { langgraph_agent, early_langgraph_agent, plain_agent, globals, ajv };

/** Tailwind's own style sheets by file name. */
export const TAILWIND_SHEETS = JSON.parse(tailwind) as Record<string, string>;
