// LangGraph itself in one process, behind HTTP. No state survives the process.
import { MemorySaver } from "@langchain/langgraph";
import { builder } from "../../agent/steps.ts";
import { serve } from "./http.mjs";

const graph = builder.compile({ checkpointer: new MemorySaver() });
const last = new Map();

const configOf = (key) => ({ configurable: { thread_id: key } });

function enqueue(key, left) {
  const run = (last.get(key) ?? Promise.resolve()).then(() =>
    graph.invoke({ left }, configOf(key)),
  );
  last.set(key, run);
  return run;
}

serve({
  run: async (key, steps) => void (await enqueue(key, steps)),
  enqueue: (key, steps) => void enqueue(key, steps),
  steps: async (key) => (await graph.getState(configOf(key))).values.count ?? 0,
});
