import { readFileSync } from "node:fs";
import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { type Product, readProducts } from "./database.ts";
import { distance } from "./distance.ts";

const State = new StateSchema({
  messages: MessagesValue,
  product: z
    .object({ name: z.string(), pieces: z.number(), shelf: z.string() })
    .nullable()
    .default(null),
});
type State = typeof State.State;

/** A file of the repository, read while the agent loads. */
const answer = readFileSync(new URL("../prompts/answer.txt", import.meta.url), "utf8").trim();

/** Finds the product whose name is closest to a word of the question, so that typing errors do not matter. */
async function findProduct({ messages }: State) {
  const question = messages.at(-1)?.text.toLowerCase() ?? "";
  const products = await readProducts();
  const ranked = products
    .map((product) => ({ product, errors: errorsIn(question, product) }))
    .sort((one, other) => one.errors - other.errors);
  const [best] = ranked;
  return { product: best && best.errors <= 2 ? best.product : null };
}

function errorsIn(question: string, { name }: Product): number {
  const words = question.match(/[a-z]+/g) ?? [];
  const count = name.split(" ").length;
  const phrases = words.map((_, at) => words.slice(at, at + count).join(" "));
  return Math.min(...phrases.map((phrase) => distance(phrase, name)));
}

function reply({ product }: State) {
  const text = product
    ? answer.replace(/\{(\w+)\}/g, (_, field) => String(product[field as keyof Product]))
    : "No product has such a name.";
  return { messages: [new AIMessage(text)] };
}

export const agent = new StateGraph(State)
  .addNode("find", findProduct)
  .addNode("reply", reply)
  .addEdge(START, "find")
  .addEdge("find", "reply")
  .addEdge("reply", END)
  .compile();
