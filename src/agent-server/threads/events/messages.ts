import {
  addedBy,
  extendBlock,
  finishBlock,
  type Piece,
  piecesOf,
  startOfBlock,
  type WireMessage,
} from "./blocks.ts";
import type { RowEvents } from "./event.ts";
import { isWithin } from "./namespaces.ts";

type Metadata = Record<string, unknown> & { name?: unknown; langgraph_node?: unknown };
type OpenMessage = {
  id: string;
  namespace: string[];
  node: string | undefined;
  blocks: { key: string; block: Piece["block"] }[];
  /** Index of the open block, `null` when no block is open. */
  at: number | null;
  /** Fields of the finish event. */
  ending: Record<string, unknown>;
};
type MessageSource = Pick<OpenMessage, "namespace" | "node"> & {
  isChunk: boolean;
  /** Whether chunks have all texts of their message so far. */
  isSoFar?: boolean;
  metadata: Metadata;
};
type Stage = "main" | "closed" | "closed_at_end" | "abandoned_before";

const ROLES: Record<string, string> = { ai: "ai", human: "human", system: "system", tool: "tool" };
const SHOWN = { ls_provider: "provider", ls_model_name: "model", ls_model_type: "model_type" };

/** Converts messages of a run's log to events: start, blocks and finish of each message. */
export class Messages {
  readonly #open = new Map<string, OpenMessage>();
  readonly #done = new Set<string>();

  /** Adds an event of the mode `messages-tuple`: a chunk or a complete message. */
  addTuple(namespace: string[], text: string, events: RowEvents) {
    const [message, metadata] = JSON.parse(text) as [WireMessage, Metadata];
    // LangGraph sets `name` to the node for a complete message that the node returned.
    const isOfNode = metadata.name !== undefined && metadata.name === metadata.langgraph_node;
    const isChunk = !isOfNode && message.tool_call_chunks !== undefined;
    const { langgraph_node: node } = metadata;
    const place = { namespace, node: typeof node === "string" ? node : undefined };
    this.#addPieces(message, { ...place, isChunk, metadata }, events);
  }

  /** Adds an event of the mode `messages`: messages with the text so far. Skips content that is not text. */
  addPartial(text: string, events: RowEvents) {
    const place = { namespace: [], node: undefined, isChunk: true, isSoFar: true, metadata: {} };
    for (const message of JSON.parse(text) as WireMessage[])
      if (typeof message.content === "string") this.#addPieces(message, place, events);
  }

  /** Adds an event of the mode `messages`: complete messages. */
  addComplete(text: string, events: RowEvents) {
    const place = { namespace: [], node: undefined, isChunk: false, metadata: {} };
    for (const message of JSON.parse(text) as WireMessage[])
      this.#addPieces(message, place, events);
  }

  /** Closes the messages of a task that has ended, and of the graphs within it. */
  closeWithin(namespace: string[], events: RowEvents) {
    for (const open of this.#open.values()) {
      if (isWithin(open.namespace, namespace)) this.#finish(open, "closed", events);
    }
  }

  /**
   * Closes the messages of a node at its update, whose `text` begins with the node's name. An update does not name its
   * task, so nothing is closed while several tasks of the node have open messages.
   */
  closeOfNode(namespace: string[], text: string, events: RowEvents) {
    const ended = [...this.#open.values()].filter((open) => {
      const isOfNode = open.node !== undefined && text.startsWith(`{${JSON.stringify(open.node)}:`);
      const isHere = open.namespace.length <= namespace.length + 1;
      return isOfNode && isHere && isWithin(open.namespace, namespace);
    });
    const tasks = new Set(ended.map((open) => open.namespace.join("|")));
    if (tasks.size > 1) return;
    for (const open of ended) this.#finish(open, "closed", events);
  }

  closeAll(events: RowEvents) {
    for (const open of this.#open.values()) this.#finish(open, "closed_at_end", events);
  }

  /** Ends open messages with an error. */
  abandonAll(message: string, events: RowEvents, stage: "abandoned_before" | "closed_at_end") {
    for (const open of this.#open.values()) {
      this.#emit(open, { event: "error", message, code: "aborted" }, stage, events);
      this.#done.add(open.id);
    }
    this.#open.clear();
  }

  #addPieces(message: WireMessage, place: MessageSource, events: RowEvents) {
    const id = typeof message.id === "string" ? message.id : `message-${events.row_id}`;
    if (this.#done.has(id)) return;
    const existing = this.#open.get(id);
    if (existing && !place.isChunk) return this.#finish(existing, "main", events);
    const open = existing ?? this.#start(id, message, place, events);
    for (const piece of newPiecesOf(message, open, place)) this.#add(open, piece, events);
    Object.assign(open.ending, endingOf(message));
    if (!place.isChunk) this.#finish(open, "main", events);
  }

  #start(
    id: string,
    { type, tool_call_id, name }: WireMessage,
    { namespace, node, metadata }: Pick<OpenMessage, "namespace" | "node"> & { metadata: Metadata },
    events: RowEvents,
  ): OpenMessage {
    this.#closeEnded(namespace, node, events);
    const open: OpenMessage = { id, namespace, node, blocks: [], at: null, ending: {} };
    this.#open.set(id, open);
    const shown = Object.entries(SHOWN).flatMap(([key, as]) =>
      metadata[key] === undefined ? [] : [[as, metadata[key]]],
    );
    const start = {
      event: "message-start",
      id,
      role: ROLES[type ?? "ai"] ?? "ai",
      ...(typeof tool_call_id === "string" && { tool_call_id }),
      ...(typeof name === "string" && { name }),
      ...(shown.length > 0 && { metadata: Object.fromEntries(shown) }),
    };
    this.#emit(open, start, "main", events);
    return open;
  }

  // Closes the node's messages that have a finish reason, when the node begins another message.
  #closeEnded(namespace: string[], node: string | undefined, events: RowEvents) {
    for (const open of this.#open.values()) {
      const isHere = open.node === node && open.namespace.join("|") === namespace.join("|");
      if (isHere && open.ending.reason !== undefined) this.#finish(open, "closed", events);
    }
  }

  #add(open: OpenMessage, { key, block: piece }: Piece, events: RowEvents) {
    let index = open.blocks.findIndex((existing) => existing.key === key);
    if (open.at !== null && open.at !== index) this.#finishBlock(open, "main", events);
    if (index === -1) {
      index = open.blocks.push({ key, block: startOfBlock(piece) }) - 1;
      const content = open.blocks[index]?.block;
      this.#emit(open, { event: "content-block-start", index, content }, "main", events);
      if (content === piece) {
        open.at = index;
        return;
      }
    }
    open.at = index;
    const existing = open.blocks[index];
    if (!existing) return;
    const { block, delta } = extendBlock(existing.block, piece);
    existing.block = block;
    if (delta) this.#emit(open, { event: "content-block-delta", index, delta }, "main", events);
  }

  #finishBlock(open: OpenMessage, stage: Stage, events: RowEvents) {
    const { at: index } = open;
    const existing = index === null ? undefined : open.blocks[index];
    open.at = null;
    if (!existing) return;
    const content = finishBlock(existing.block);
    this.#emit(open, { event: "content-block-finish", index, content }, stage, events);
  }

  #finish(open: OpenMessage, stage: Stage, events: RowEvents) {
    this.#finishBlock(open, stage, events);
    this.#emit(open, { event: "message-finish", ...open.ending }, stage, events);
    this.#open.delete(open.id);
    this.#done.add(open.id);
  }

  // Clients distinguish concurrent messages by `run_id`, the id of the model's run.
  #emit({ id, namespace, node }: OpenMessage, data: object, stage: Stage, events: RowEvents) {
    const text = JSON.stringify({ ...data, run_id: id.replace(/^run-/, "") });
    events.add(stage, { method: "messages", namespace, node, data: text });
  }
}

function newPiecesOf(
  message: WireMessage,
  open: OpenMessage,
  { isChunk, isSoFar }: MessageSource,
): Piece[] {
  const pieces = piecesOf(message, isChunk);
  if (!isSoFar) return pieces;
  const blocks = new Map(open.blocks.map(({ key, block }) => [key, block]));
  return pieces.flatMap((piece) => addedBy(piece, blocks.get(piece.key)) ?? []);
}

function endingOf({ usage_metadata, response_metadata = {} }: WireMessage) {
  const { finish_reason, stop_reason, done_reason } = response_metadata;
  const reason = finish_reason ?? stop_reason ?? done_reason;
  return {
    ...(usage_metadata && { usage: usage_metadata }),
    ...(typeof reason === "string" && { reason }),
    ...(Object.keys(response_metadata).length > 0 && { responseMetadata: response_metadata }),
  };
}
