import { type Fields, isFields } from "../../ui/conversation/fields.ts";

/**
 * Appends a chunk to a message. Drops `tool_calls`, which are incomplete in a chunk: `tool_call_chunks` have the calls.
 */
export function mergeChunk(former: Fields, chunk: Fields): Fields {
  return {
    ...former,
    ...chunk,
    content: mergeContent(former.content, chunk.content),
    tool_calls: undefined,
    tool_call_chunks: mergeCalls(listOf(former), listOf(chunk)),
  };
}

function mergeContent(former: unknown, added: unknown): unknown {
  if (typeof former === "string" && typeof added === "string") return former + added;
  const blocks = [former, added].flatMap((content) => {
    if (Array.isArray(content)) return content as unknown[];
    return content ? [{ type: "text", text: content }] : [];
  });
  return blocks;
}

function listOf({ tool_call_chunks }: Fields): Fields[] {
  return Array.isArray(tool_call_chunks) ? tool_call_chunks.filter(isFields) : [];
}

function mergeCalls(former: Fields[], added: Fields[]): Fields[] {
  const merged = [...former];
  for (const call of added) {
    // Some models stream calls without an index. Only their ids distinguish them.
    const at = merged.findLastIndex(
      ({ index, id }) => index === call.index && (!id || !call.id || id === call.id),
    );
    const known = merged[at];
    if (known === undefined) merged.push(call);
    else merged[at] = { ...known, args: `${known.args ?? ""}${call.args ?? ""}` };
  }
  return merged;
}
