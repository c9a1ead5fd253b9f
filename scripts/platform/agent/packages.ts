// A graph and an app whose packages a build installs, as most agents are.
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { Hono } from "hono";

const State = Annotation.Root({
  answer: Annotation<string>,
  steps: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** A step, and a step that interrupts the run with a question and stores the answer. */
export const question = new StateGraph(State)
  .addNode("first", async () => ({ steps: 1 }))
  .addNode("question", async () => ({ answer: interrupt("continue?"), steps: 1 }))
  .addEdge(START, "first")
  .addEdge("first", "question")
  .addEdge("question", END)
  .compile();

const CHUNK = new TextEncoder().encode("x".repeat(1_000_000));

function bodyOf(megabytes: number): ReadableStream<Uint8Array> {
  let left = megabytes;
  return new ReadableStream({
    pull(controller) {
      if (left === 0) return controller.close();
      left -= 1;
      controller.enqueue(CHUNK);
    },
  });
}

export const app = new Hono()
  .get("/probe/large", (c) => c.body(bodyOf(Number(c.req.query("megabytes"))), 200))
  .get("/probe/page", (c) => c.html("<p>page</p>", 200, { "Set-Cookie": "probe=1" }));
