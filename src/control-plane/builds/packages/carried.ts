import globals from "../../../../dist/isolate/globals.txt";
import langgraph_agent from "../../../../dist/isolate/langgraph-agent.txt";
import plain_agent from "../../../../dist/isolate/plain-agent.txt";
import runtime from "../../../../dist/runtime/runtime.txt";
import tailwind from "../../../../dist/styles/tailwind.txt";
import type { Runtime } from "./prebuilt.ts";

/** What `npm run build` made for the builder to carry: the harnesses, what they bring along, and LangGraph as modules. */
export const HARNESS = { langgraph_agent, plain_agent, globals };

/** Tailwind's style sheets by their names. */
export const TAILWIND_SHEETS = JSON.parse(tailwind) as Record<string, string>;

let parsed: Runtime | null = null;

export function prebuiltRuntime(): Runtime {
  parsed ??= JSON.parse(runtime) as Runtime;
  return parsed;
}
