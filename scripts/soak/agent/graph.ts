import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  tag: Annotation<string>,
  delay_ms: Annotation<number>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const step = (name: string) => async (state: { tag: string; delay_ms: number }) => {
  if (state.delay_ms > 0) await new Promise((done) => setTimeout(done, state.delay_ms));
  return { log: [`${state.tag}:${name}`] };
};

/** Three steps, each of which appends the tag of its run to the thread's log. */
export const graph = new StateGraph(State)
  .addNode("a", step("a"))
  .addNode("b", step("b"))
  .addNode("c", step("c"))
  .addEdge(START, "a")
  .addEdge("a", "b")
  .addEdge("b", "c")
  .addEdge("c", END)
  .compile();
