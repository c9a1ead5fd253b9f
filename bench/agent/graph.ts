import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

/** A node without a model, so that the server's share of a run is measured. */
export const builder = new StateGraph(MessagesAnnotation)
  .addNode("reply", ({ messages }) => ({
    messages: [new AIMessage(`echo: ${String(messages.at(-1)?.content)}`)],
  }))
  .addEdge(START, "reply")
  .addEdge("reply", END);

export const graph = builder.compile();
