import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  /** Steps of all runs of the thread. */
  count: Annotation<number>({ reducer: (sum, more) => sum + more, default: () => 0 }),
  left: Annotation<number>,
});

/** Takes `left` steps, each of which adds one to the thread's count. */
export const builder = new StateGraph(State)
  .addNode("step", ({ left }) => ({ count: 1, left: left - 1 }))
  .addEdge(START, "step")
  .addConditionalEdges("step", ({ left }) => (left > 0 ? "step" : END));

export const graph = builder.compile();
