import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

const MESSAGE_CHARACTERS = 20_000;

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  text: Annotation<string>,
  count: Annotation<number>({ reducer: (sum, more) => sum + more, default: () => 0 }),
  left: Annotation<number>,
  fill: Annotation<{ shape: "text" | "wide" | "messages"; characters: number } | null>,
  grows: Annotation<boolean>,
});

/** Fills the state as requested, or takes `left` steps on it. */
export const builder = new StateGraph(State)
  .addNode("step", ({ fill, left, grows }) => {
    const rest = { fill: null, count: 1, left: left - 1 };
    if (grows) return { ...rest, messages: [new HumanMessage("more")] };
    if (!fill) return rest;
    const { shape, characters } = fill;
    if (shape === "text") return { ...rest, text: "x".repeat(characters) };
    if (shape === "wide") return { ...rest, text: `\u4e00${"x".repeat(characters)}` };
    const count = Math.ceil(characters / MESSAGE_CHARACTERS);
    const content = "x".repeat(MESSAGE_CHARACTERS);
    return { ...rest, messages: Array.from({ length: count }, () => new HumanMessage(content)) };
  })
  .addEdge(START, "step")
  .addConditionalEdges("step", ({ left }) => (left > 0 ? "step" : END));

export const graph = builder.compile();
