import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { expect, test } from "vitest";
import { subgraphsOf } from "../../src/isolate/checkpoints/subgraphs.ts";

const State = Annotation.Root({ log: Annotation<string> });
const innermost = new StateGraph(State)
  .addNode("work", () => ({ log: "work" }))
  .addEdge(START, "work")
  .addEdge("work", END)
  .compile();
const inner = new StateGraph(State)
  .addNode("innermost", innermost)
  .addEdge(START, "innermost")
  .addEdge("innermost", END)
  .compile();
const graph = new StateGraph(State)
  .addNode("remote", new RemoteGraph({ graphId: "elsewhere", url: "http://127.0.0.1:1" }))
  .addNode("inner", inner)
  .addEdge(START, "remote")
  .addEdge("remote", "inner")
  .addEdge("inner", END)
  .compile();

test("graphs within a graph are found beside a remote one", () => {
  expect([...subgraphsOf(graph)]).toEqual([
    ["inner", inner],
    ["inner|innermost", innermost],
  ]);
  expect([...subgraphsOf(graph, false)]).toEqual([["inner", inner]]);
  expect(() => [...graph.getSubgraphs(undefined, true)]).toThrow("synchronous");
});
