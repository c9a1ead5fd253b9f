import { store } from "heddle:graphs";
import { type AgentModule, loadModule } from "../modules/agent-module.ts";
import type { EmbedCall, EmbeddingResult, IndexChoice } from "../store-contract.ts";
import { textsAt } from "./text-paths.ts";

/** `store` of langgraph.json, written by the builder. */
export type EmbeddingSettings = {
  index: (AgentModule & { dims: number; fields: string[] }) | null;
  ttl: { default_ms: number | null; refresh_on_read: boolean };
};

type EmbedTexts = (texts: string[]) => Promise<number[][]> | number[][];
/** The part of LangChain's `Embeddings` that is used. */
type Embeddings = {
  embedDocuments: EmbedTexts;
  embedQuery?: (text: string) => Promise<number[]> | number[];
};

export const isIndexed = store.index !== null;
export const { ttl } = store;

/** Calls the agent's embedding function once with the different texts of all items, and once with the query. */
export async function embed({ items, query }: EmbedCall): Promise<EmbeddingResult> {
  const texts = items.map(({ value, index }) => textsOf(value, index));
  const all = [...new Set(texts.flat())];
  const [made, ofQuery] = await Promise.all([
    all.length > 0 ? embedTexts(all) : [],
    query === null ? null : embedQuery(query),
  ]);
  const byText = new Map(all.map((text, n) => [text, made[n]]));
  return {
    items: texts.map((own) => own.flatMap((text) => byText.get(text) ?? [])),
    query: ofQuery,
  };
}

function textsOf(value: string, index: IndexChoice): string[] {
  if (index === false || !store.index) return [];
  const parsed: unknown = JSON.parse(value);
  return [...new Set((index ?? store.index.fields).flatMap((path) => textsAt(parsed, path)))];
}

async function embedTexts(texts: string[]): Promise<Float32Array[]> {
  const { embedDocuments } = await embedder();
  const made = await embedDocuments(texts);
  if (Array.isArray(made) && made.length === texts.length) return made.map(toVector);
  const count = Array.isArray(made) ? `${made.length} vectors` : typeof made;
  throw new Error(`the function was given ${texts.length} texts and returned ${count}.`);
}

async function embedQuery(query: string): Promise<Float32Array | null> {
  const { embedQuery: own } = await embedder();
  if (own) return toVector(await own(query));
  return (await embedTexts([query]))[0] ?? null;
}

async function embedder(): Promise<Embeddings> {
  const index = settings();
  const module = await loadModule(index);
  const value = module[index.export_name];
  if (typeof value === "function") return { embedDocuments: value as EmbedTexts };
  if (isEmbeddings(value)) {
    return {
      embedDocuments: (texts) => value.embedDocuments(texts),
      ...(value.embedQuery && { embedQuery: (text) => value.embedQuery?.(text) ?? [] }),
    };
  }
  const known = Object.keys(module).join(", ") || "none";
  throw new Error(
    `its module has no function or Embeddings "${index.export_name}" (it exports: ${known}).`,
  );
}

function settings() {
  if (!store.index) throw new Error("langgraph.json of this revision names no embedding function.");
  return store.index;
}

function isEmbeddings(value: unknown): value is Embeddings {
  return typeof value === "object" && value !== null && "embedDocuments" in value;
}

function toVector(numbers: unknown): Float32Array {
  const { dims } = settings();
  const isVector = Array.isArray(numbers) || ArrayBuffer.isView(numbers);
  const vector = Float32Array.from(isVector ? (numbers as ArrayLike<number>) : []);
  if (vector.length === dims) return vector;
  throw new Error(`a vector has ${vector.length} numbers but store.index.dims is ${dims}.`);
}
