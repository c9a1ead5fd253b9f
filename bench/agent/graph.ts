import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

/** One node, no model: what is left of a run's time is the server's. */
export const builder = new StateGraph(MessagesAnnotation)
  .addNode("reply", ({ messages }) => ({
    messages: [new AIMessage(`echo: ${String(messages.at(-1)?.content)}`)],
  }))
  .addEdge(START, "reply")
  .addEdge("reply", END);

export const graph = builder.compile();
