type Fields = Record<string, unknown>;

/** Part of a message. Pieces of one message with the same key, such as `text` or `call 0`, form one content block. */
export type Piece = { key: string; block: Fields & { type: string } };

/** A LangChain message on the wire: complete, or a chunk of a stream. */
export type WireMessage = Fields & {
  type?: string;
  id?: string;
  content?: unknown;
  tool_calls?: Fields[];
  invalid_tool_calls?: Fields[];
  tool_call_chunks?: Fields[];
  tool_call_id?: string;
  additional_kwargs?: Fields;
  response_metadata?: Fields;
  usage_metadata?: Fields;
};

// Types of tool calls in the content. They are skipped: the message has the calls in `tool_calls` or in chunks too.
const TOOL_PARTS = ["tool_use", "input_json_delta", "tool_call", "tool_call_chunk"];

/** Returns the content blocks of a complete message, or the parts that a chunk adds to its message. */
export function piecesOf(message: WireMessage, isChunk: boolean): Piece[] {
  return [
    ...reasoningPieces(message),
    ...contentPieces(message.content),
    ...(isChunk ? chunkPieces(message) : callPieces(message)),
  ];
}

function reasoningPieces({ additional_kwargs }: WireMessage): Piece[] {
  const reasoning = additional_kwargs?.reasoning_content;
  if (typeof reasoning !== "string" || reasoning === "") return [];
  return [{ key: "reasoning", block: { type: "reasoning", reasoning } }];
}

function contentPieces(content: unknown): Piece[] {
  if (typeof content === "string") {
    return content === "" ? [] : [{ key: "text", block: { type: "text", text: content } }];
  }
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown, position): Piece[] => {
    if (typeof part === "string") return contentPieces(part);
    if (!isBlock(part) || TOOL_PARTS.includes(part.type)) return [];
    return [{ key: `content ${part.index ?? position}`, block: toStandard(part) }];
  });
}

function isBlock(part: unknown): part is Fields & { type: string } {
  return (
    typeof part === "object" && part !== null && "type" in part && typeof part.type === "string"
  );
}

/** Converts the `thinking` blocks of a provider to `reasoning`. */
function toStandard({ index: _, ...block }: Fields & { type: string }): Piece["block"] {
  if (block.type !== "thinking") return block;
  const { thinking, ...rest } = block;
  return {
    ...rest,
    type: "reasoning",
    ...(typeof thinking === "string" && { reasoning: thinking }),
  };
}

function chunkPieces({ tool_call_chunks = [] }: WireMessage): Piece[] {
  return tool_call_chunks.map(({ index, id, name, args }, position) => ({
    key: `call ${index ?? id ?? position}`,
    block: { type: "tool_call_chunk", id, name, args },
  }));
}

function callPieces({ tool_calls = [], invalid_tool_calls = [] }: WireMessage): Piece[] {
  return [
    ...tool_calls.map((call, n) => ({
      key: `call ${n}`,
      block: { ...call, type: "tool_call" },
    })),
    ...invalid_tool_calls.map((call, n) => ({
      key: `invalid call ${n}`,
      block: { ...call, type: "invalid_tool_call" },
    })),
  ];
}

/** Returns the block of a start event. Its text or arguments are empty: deltas add all of them. */
export function startOfBlock(block: Piece["block"]): Piece["block"] {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "reasoning":
      return { ...block, reasoning: "" };
    case "tool_call_chunk":
      return { ...identityOf(block), args: "" };
    default:
      return block;
  }
}

/** Fields that deltas extend, by type of block. */
const TEXT_FIELDS: Record<string, string> = {
  text: "text",
  reasoning: "reasoning",
  tool_call_chunk: "args",
};

/**
 * Returns the part of a piece that its block does not have, for events that repeat the whole text so far.
 * @returns `null` when the block has all of it
 */
export function addedBy({ key, block }: Piece, known: Piece["block"] | undefined): Piece | null {
  const field = TEXT_FIELDS[block.type];
  if (known === undefined || field === undefined) return { key, block };
  const { [field]: all } = block;
  const added = typeof all === "string" ? all.slice(String(known[field] ?? "").length) : "";
  return added === "" ? null : { key, block: { ...block, [field]: added } };
}

type Extension = { block: Piece["block"]; delta: Fields | null };

/** Appends a piece to a block. `delta`: the change that clients receive, `null` when nothing changes for them. */
export function extendBlock(block: Piece["block"], piece: Piece["block"]): Extension {
  if (block.type === "tool_call_chunk") return extendCall(block, piece);
  if (block.type === "text") return extendText(block, piece, "text") ?? mergeFields(block, piece);
  if (block.type === "reasoning") {
    return extendText(block, piece, "reasoning") ?? mergeFields(block, piece);
  }
  const { data, ...fields } = piece;
  if (typeof data !== "string" || typeof block.data !== "string") return mergeFields(block, piece);
  const delta = { type: "data-delta", data, encoding: "base64" };
  return { block: { ...block, ...fields, data: block.data + data }, delta };
}

function extendText(
  block: Piece["block"],
  piece: Piece["block"],
  kind: "text" | "reasoning",
): Extension | null {
  const { [kind]: more, ...fields } = piece;
  if (typeof more !== "string") return null;
  const all = { ...block, ...fields, [kind]: `${block[kind] ?? ""}${more}` };
  return { block: all, delta: more === "" ? null : { type: `${kind}-delta`, [kind]: more } };
}

// Clients replace the fields of a block by those of the delta, so the delta has all arguments so far.
function extendCall(block: Piece["block"], piece: Piece["block"]): Extension {
  const args = `${block.args ?? ""}${piece.args ?? ""}`;
  const all = { ...block, ...identityOf({ ...piece, type: block.type }), args };
  return { block: all, delta: { type: "block-delta", fields: all } };
}

function mergeFields(block: Piece["block"], piece: Piece["block"]): Extension {
  const fields = { ...piece, type: block.type };
  return { block: { ...block, ...fields }, delta: { type: "block-delta", fields } };
}

/** Returns the final block, with parsed tool arguments. */
export function finishBlock(block: Piece["block"]): Piece["block"] {
  if (block.type !== "tool_call_chunk") return block;
  const { id = null, name = null } = block;
  const text = String(block.args ?? "");
  try {
    return { type: "tool_call", id, name, args: JSON.parse(text === "" ? "{}" : text) };
  } catch {
    const error = "The arguments are not JSON.";
    return { type: "invalid_tool_call", id, name, args: text, error };
  }
}

function identityOf({ type, id, name }: Fields & { type: string }): Piece["block"] {
  return {
    type,
    ...(typeof id === "string" && { id }),
    ...(typeof name === "string" && { name }),
  };
}
