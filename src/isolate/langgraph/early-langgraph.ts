import { type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import type { Graph } from "./langgraph.ts";
import type { MessageChunk } from "./message-events.ts";
import type { LangChainEvent } from "./stream-events.ts";

type Fields = Record<string, unknown>;
type Options = Fields & { streamMode: string[]; subgraphs: boolean; runId: string };

/** Methods of graphs before 0.2.20. */
type EarlyGraph = {
  getGraph(config: unknown): unknown;
  stream(input: unknown, options: object): Promise<AsyncIterable<unknown>>;
  streamEvents(input: unknown, options: object): AsyncIterable<NodeEvent>;
};

/** Adds the methods and options that the engine uses to a graph of LangGraph before 0.2.20. */
export function adaptEarly(graph: Graph): Graph {
  const Compiled = graph.constructor as new (fields: Fields) => EarlyGraph;

  /** Copies are adapted as well: `withSaver` constructs them with the class of the graph. */
  class AdaptedGraph extends Compiled {
    constructor(fields: Fields) {
      // 0.2.5 drops all of the configurable that is not in `configKeys`, such as the checkpoint.
      super({ ...fields, configKeys: undefined, store: TAKES_STORE ? fields.store : undefined });
    }

    async getGraphAsync(config: unknown) {
      return this.getGraph(config);
    }

    override async stream(input: unknown, options: Options) {
      return streamOf(new Compiled({ ...(this as object) }), input, options);
    }
  }

  return new AdaptedGraph({ ...graph }) as unknown as Graph;
}

const batchedStore = Reflect.get(langgraph, "AsyncBatchedStore") as
  | typeof langgraph.AsyncBatchedStore
  | undefined;
/**
 * Whether nodes receive the store, as from 0.2.10 on. Earlier versions have another store, which nodes do not receive.
 */
const TAKES_STORE = batchedStore !== undefined && "search" in batchedStore.prototype;

async function* streamOf(
  graph: EarlyGraph,
  input: unknown,
  options: Options,
): AsyncGenerator<unknown[]> {
  const { streamMode, subgraphs } = options;
  // A single mode yields chunks without its name. `values` is always listed, so listing it again makes two entries
  // without adding a mode.
  const all = { ...options, streamMode: [...streamMode, "values"] };
  const chunks = streamMode.includes("messages")
    ? withMessages(graph, input, all)
    : await graph.stream(input, all);
  for await (const chunk of chunks as AsyncIterable<unknown[]>) {
    // Before 0.2.9 chunks have no namespace.
    yield subgraphs && !Array.isArray(chunk[0]) ? [[], ...chunk] : chunk;
  }
}

/** Streams messages from LangChain's events, as servers did before LangGraph had the mode. */
async function* withMessages(
  graph: EarlyGraph,
  input: unknown,
  options: Options,
): AsyncGenerator<unknown> {
  const { streamMode, runId } = options;
  const messages = new EventMessages();
  const all = { ...options, streamMode: [...streamMode, "updates"], version: "v2" };
  for await (const event of graph.streamEvents(input, all)) {
    const chunk = chunkOf(event, runId);
    for (const message of chunk ? messages.ofChunk(chunk) : messages.ofEvent(event)) {
      yield ["messages", message];
    }
    if (chunk && streamMode.includes(modeOf(chunk))) yield chunk;
  }
}

/** @returns `null` for an event that is not a chunk of the graph's own stream */
function chunkOf({ event, run_id, data }: LangChainEvent, graphRunId: string): unknown[] | null {
  return event === "on_chain_stream" && run_id === graphRunId ? (data.chunk as unknown[]) : null;
}

/** Returns the mode of `[mode, data]` or `[namespace, mode, data]`. */
function modeOf(chunk: unknown[]): string {
  return chunk.at(-2) as string;
}

type Metadata = { langgraph_node?: string };
type NodeEvent = LangChainEvent & {
  name?: string;
  metadata?: Metadata;
  data: { chunk?: unknown; output?: unknown };
};

const SILENT = ["langsmith:nostream", "nostream", "langsmith:hidden"];

/** Collects messages of chat models, and of nodes that return messages, each with its metadata. */
class EventMessages {
  readonly #ids = new Set<string>();
  readonly #streamed = new Set<string>();
  /** Metadata of the newest task of each node. */
  readonly #nodes = new Map<string, Metadata>();

  ofEvent({ event, run_id, name, tags, metadata, data }: NodeEvent): MessageChunk[] {
    const node = metadata?.langgraph_node;
    if (node === undefined || tags?.some((tag) => SILENT.includes(tag))) return [];
    const described = { tags, name, ...metadata };
    switch (event) {
      case "on_chain_start":
        if (name === node) this.#nodes.set(node, described);
        return [];
      case "on_chat_model_stream":
        this.#streamed.add(run_id);
        return messagesIn(data.chunk).map((message) => [this.#withId(message), described]);
      case "on_chat_model_end":
        if (!this.#streamed.has(run_id)) return this.#fresh(data.output, described);
        // Anthropic's package gives streamed tokens another id than the whole message.
        this.#addIds(data.output);
        return [];
      default:
        return [];
    }
  }

  /**
   * Returns messages that nodes returned without a model. Ids in the values are known from then on, so messages of the
   * input are not returned.
   */
  ofChunk(chunk: unknown[]): MessageChunk[] {
    const mode = modeOf(chunk);
    const data = chunk.at(-1) as Record<string, unknown>;
    if (mode === "values") this.#addIds(data);
    if (mode !== "updates") return [];
    return Object.entries(data).flatMap(([node, update]) =>
      this.#fresh(update, this.#nodes.get(node) ?? { langgraph_node: node }),
    );
  }

  #addIds(output: unknown) {
    for (const { id } of messagesIn(output)) this.#ids.add(id ?? "");
  }

  #fresh(output: unknown, metadata: Metadata): MessageChunk[] {
    return messagesIn(output).flatMap((message): MessageChunk[] => {
      const isKnown = message.id !== undefined && this.#ids.has(message.id);
      return isKnown ? [] : [[this.#withId(message), metadata]];
    });
  }

  /** Sets a missing id. The state receives the same object, and thus the same id. */
  #withId(message: BaseMessage): BaseMessage {
    message.id ??= crypto.randomUUID();
    this.#ids.add(message.id);
    return message;
  }
}

/** Returns the messages in a message, a list, or the fields of an update. */
function messagesIn(output: unknown): BaseMessage[] {
  if (isBaseMessage(output)) return [output];
  if (typeof output !== "object" || output === null) return [];
  const fields = Array.isArray(output) ? output : Object.values(output).flat();
  return fields.filter((field) => isBaseMessage(field));
}
