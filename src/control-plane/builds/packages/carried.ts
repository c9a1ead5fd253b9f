import early_langgraph_agent from "../../../../dist/isolate/early-langgraph-agent.txt";
import globals from "../../../../dist/isolate/globals.txt";
import langgraph_agent from "../../../../dist/isolate/langgraph-agent.txt";
import plain_agent from "../../../../dist/isolate/plain-agent.txt";
import tailwind from "../../../../dist/styles/tailwind.txt";

/** The modules that every artifact begins with, built by `npm run build`. */
export const HARNESS = { langgraph_agent, early_langgraph_agent, plain_agent, globals };

/** Tailwind's style sheets by their names. */
export const TAILWIND_SHEETS = JSON.parse(tailwind) as Record<string, string>;
