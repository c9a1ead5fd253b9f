type Fields = Record<string, unknown>;

/** Part of a message that extends the block with the same key. */
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

// Provider-specific tool calls in the content, which the message repeats in the common form.
const TOOL_PARTS = ["tool_use", "input_json_delta", "tool_call", "tool_call_chunk"];

/** Returns the content blocks of a message, or the additions of a chunk. */
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

/** Returns a block without the text that deltas add. */
export function emptied(block: Piece["block"]): Piece["block"] {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "reasoning":
      return { ...block, reasoning: "" };
    case "tool_call_chunk":
      return { ...named(block), args: "" };
    default:
      return block;
  }
}

type Grown = { block: Piece["block"]; delta: Fields | null };

/** Appends a piece to a block. `delta` is `null` when nothing changes for clients. */
export function grown(block: Piece["block"], piece: Piece["block"]): Grown {
  if (block.type === "tool_call_chunk") return grownCall(block, piece);
  if (block.type === "text") return grownText(block, piece, "text") ?? merged(block, piece);
  if (block.type === "reasoning") {
    return grownText(block, piece, "reasoning") ?? merged(block, piece);
  }
  const { data, ...fields } = piece;
  if (typeof data !== "string" || typeof block.data !== "string") return merged(block, piece);
  const delta = { type: "data-delta", data, encoding: "base64" };
  return { block: { ...block, ...fields, data: block.data + data }, delta };
}

function grownText(
  block: Piece["block"],
  piece: Piece["block"],
  kind: "text" | "reasoning",
): Grown | null {
  const { [kind]: more, ...fields } = piece;
  if (typeof more !== "string") return null;
  const all = { ...block, ...fields, [kind]: `${block[kind] ?? ""}${more}` };
  return { block: all, delta: more === "" ? null : { type: `${kind}-delta`, [kind]: more } };
}

// Clients replace fields by those of the delta, so it has all arguments so far.
function grownCall(block: Piece["block"], piece: Piece["block"]): Grown {
  const args = `${block.args ?? ""}${piece.args ?? ""}`;
  const all = { ...block, ...named({ ...piece, type: block.type }), args };
  return { block: all, delta: { type: "block-delta", fields: all } };
}

function merged(block: Piece["block"], piece: Piece["block"]): Grown {
  const fields = { ...piece, type: block.type };
  return { block: { ...block, ...fields }, delta: { type: "block-delta", fields } };
}

/** Returns the final block, with parsed tool arguments. */
export function finished(block: Piece["block"]): Piece["block"] {
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

function named({ type, id, name }: Fields & { type: string }): Piece["block"] {
  return {
    type,
    ...(typeof id === "string" && { id }),
    ...(typeof name === "string" && { name }),
  };
}
