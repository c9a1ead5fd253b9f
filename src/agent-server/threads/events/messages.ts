import { emptied, finished, grown, type Piece, piecesOf, type WireMessage } from "./blocks.ts";
import type { RowEvents } from "./event.ts";
import { isWithin } from "./namespaces.ts";

type Metadata = Record<string, unknown> & { name?: unknown; langgraph_node?: unknown };
type Open = {
  id: string;
  namespace: string[];
  node: string | undefined;
  blocks: { key: string; block: Piece["block"] }[];
  /** The block that is being said. */
  at: number | null;
  ending: Record<string, unknown>;
};
type Stage = "main" | "closed" | "closed_at_end" | "abandoned";

const ROLES: Record<string, string> = { ai: "ai", human: "human", system: "system", tool: "tool" };
const SHOWN = { ls_provider: "provider", ls_model_name: "model", ls_model_type: "model_type" };

/** Turns the messages of a run's log into the sequence of start, blocks and finish that each one has. */
export class Messages {
  readonly #open = new Map<string, Open>();
  readonly #done = new Set<string>();

  /** Of the mode `messages-tuple`: a chunk of what a model says, or a message that is whole. */
  take(namespace: string[], text: string, events: RowEvents) {
    const [message, metadata] = JSON.parse(text) as [WireMessage, Metadata];
    const isOfNode = metadata.name !== undefined && metadata.name === metadata.langgraph_node;
    const isChunk = !isOfNode && message.tool_call_chunks !== undefined;
    const { langgraph_node: node } = metadata;
    const place = { namespace, node: typeof node === "string" ? node : undefined };
    this.#say(message, { ...place, isChunk, metadata }, events);
  }

  /** Of the mode `messages`: what a model has said so far. */
  takePartial(text: string, events: RowEvents) {
    for (const message of JSON.parse(text) as WireMessage[]) {
      const { content } = message;
      if (typeof content !== "string") continue;
      const known = this.#open.get(message.id ?? "")?.blocks.find(({ key }) => key === "text");
      const said = String(known?.block.text ?? "").length;
      const chunk = { ...message, content: content.slice(said) };
      this.#say(chunk, { namespace: [], node: undefined, isChunk: true, metadata: {} }, events);
    }
  }

  /** Of the mode `messages`: messages that are whole. */
  takeComplete(text: string, events: RowEvents) {
    const place = { namespace: [], node: undefined, isChunk: false, metadata: {} };
    for (const message of JSON.parse(text) as WireMessage[]) this.#say(message, place, events);
  }

  /** A node has ended: so have the messages of all that it called. */
  closeWithin(namespace: string[], events: RowEvents) {
    for (const open of this.#open.values()) {
      if (isWithin(open.namespace, namespace)) this.#finish(open, "closed", events);
    }
  }

  /** A graph tells what its node has said: `text` begins with the node's name. */
  closeOfNode(namespace: string[], text: string, events: RowEvents) {
    for (const open of this.#open.values()) {
      const isOfNode = open.node !== undefined && text.startsWith(`{${JSON.stringify(open.node)}:`);
      const isHere = open.namespace.length <= namespace.length + 1;
      if (isOfNode && isHere && isWithin(open.namespace, namespace)) {
        this.#finish(open, "closed", events);
      }
    }
  }

  closeAll(events: RowEvents) {
    for (const open of this.#open.values()) this.#finish(open, "closed_at_end", events);
  }

  /** What was being said is not said to its end. */
  abandonAll(message: string, events: RowEvents, stage: "abandoned" | "closed_at_end") {
    for (const open of this.#open.values()) {
      this.#tell(open, { event: "error", message, code: "aborted" }, stage, events);
      this.#done.add(open.id);
    }
    this.#open.clear();
  }

  #say(
    message: WireMessage,
    place: Pick<Open, "namespace" | "node"> & { isChunk: boolean; metadata: Metadata },
    events: RowEvents,
  ) {
    const id = typeof message.id === "string" ? message.id : `message-${events.row_id}`;
    if (this.#done.has(id)) return;
    const known = this.#open.get(id);
    if (known && !place.isChunk) return this.#finish(known, "main", events);
    const open = known ?? this.#start(id, message, place, events);
    for (const piece of piecesOf(message, place.isChunk)) this.#add(open, piece, events);
    Object.assign(open.ending, endingOf(message));
    if (!place.isChunk) this.#finish(open, "main", events);
  }

  #start(
    id: string,
    { type, tool_call_id, name }: WireMessage,
    { namespace, node, metadata }: Pick<Open, "namespace" | "node"> & { metadata: Metadata },
    events: RowEvents,
  ): Open {
    this.#closeEnded(namespace, node, events);
    const open: Open = { id, namespace, node, blocks: [], at: null, ending: {} };
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
    this.#tell(open, start, "main", events);
    return open;
  }

  // A node that calls its model again: what said why it stopped has been said to its end.
  #closeEnded(namespace: string[], node: string | undefined, events: RowEvents) {
    for (const open of this.#open.values()) {
      const isHere = open.node === node && open.namespace.join("|") === namespace.join("|");
      if (isHere && open.ending.reason !== undefined) this.#finish(open, "closed", events);
    }
  }

  #add(open: Open, { key, block: piece }: Piece, events: RowEvents) {
    let index = open.blocks.findIndex((known) => known.key === key);
    if (open.at !== null && open.at !== index) this.#finishBlock(open, "main", events);
    if (index === -1) {
      index = open.blocks.push({ key, block: emptied(piece) }) - 1;
      const content = open.blocks[index]?.block;
      this.#tell(open, { event: "content-block-start", index, content }, "main", events);
      if (content === piece) {
        open.at = index;
        return;
      }
    }
    open.at = index;
    const known = open.blocks[index];
    if (!known) return;
    const { block, delta } = grown(known.block, piece);
    known.block = block;
    if (delta) this.#tell(open, { event: "content-block-delta", index, delta }, "main", events);
  }

  #finishBlock(open: Open, stage: Stage, events: RowEvents) {
    const { at: index } = open;
    const known = index === null ? undefined : open.blocks[index];
    open.at = null;
    if (!known) return;
    const content = finished(known.block);
    this.#tell(open, { event: "content-block-finish", index, content }, stage, events);
  }

  #finish(open: Open, stage: Stage, events: RowEvents) {
    this.#finishBlock(open, stage, events);
    this.#tell(open, { event: "message-finish", ...open.ending }, stage, events);
    this.#open.delete(open.id);
    this.#done.add(open.id);
  }

  // Clients tell messages that are said at one time apart by the run of their model.
  #tell({ id, namespace, node }: Open, data: object, stage: Stage, events: RowEvents) {
    const text = JSON.stringify({ ...data, run_id: id.replace(/^run-/, "") });
    events.tell(stage, { method: "messages", namespace, node, data: text });
  }
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
