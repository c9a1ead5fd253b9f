import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

const PRINT_MS = 200;

/** "print 20" prints twenty lines, 200 ms apart. */
async function print(text: string): Promise<void> {
  const count = Number(/^print (\d+)$/.exec(text)?.[1] ?? 0);
  for (let n = 1; n <= count; n += 1) {
    console.log(`line ${n}`);
    await new Promise((resolve) => setTimeout(resolve, PRINT_MS));
  }
}

/** A node without a model, so that the server's share of a run is measured. */
export const builder = new StateGraph(MessagesAnnotation)
  .addNode("reply", async ({ messages }) => {
    const text = String(messages.at(-1)?.content);
    if (text.startsWith("print ")) await print(text);
    return { messages: [new AIMessage(`echo: ${text}`)] };
  })
  .addEdge(START, "reply")
  .addEdge("reply", END);

export const graph = builder.compile();
