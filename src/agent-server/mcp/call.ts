import { isRecord } from "../../shared/guards.ts";
import { type RpcId, rpcResult } from "../../shared/http/json-rpc.ts";

/** Maximum characters of a run's result. A response has values twice, as text and as structured content. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const TOO_LARGE = `The result of the agent has over ${MAX_CHARACTERS} characters: let it return less, or create a run on a thread and read its state.`;

/**
 * Converts the result of a run to the response to a `tools/call`. Keeps the newlines before the result, which keep the
 * connection alive: JSON may begin with newlines.
 */
export function toToolAnswer(id: RpcId, result: ReadableStream): ReadableStream {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let chunks: string[] = [];
  let characters = 0;
  const answer = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      if (characters === 0 && text.trim() === "") return controller.enqueue(encoder.encode(text));
      characters += text.length;
      if (characters <= MAX_CHARACTERS) chunks.push(text);
      else chunks = [];
    },
    flush(controller) {
      const isTooLarge = characters > MAX_CHARACTERS;
      const response = isTooLarge ? refusal(TOO_LARGE) : toToolResult(JSON.parse(chunks.join("")));
      controller.enqueue(encoder.encode(JSON.stringify(rpcResult(id, response))));
    },
  });
  return result.pipeThrough(answer);
}

/** Returns values as text, which models read, and as structured content, which programs read. */
function toToolResult(values: unknown) {
  if (values === null) return refusal("The run was cancelled.");
  if (!isRecord(values)) return { content: [toText(JSON.stringify(values))], isError: false };
  const failure = values.__error__;
  if (isRecord(failure)) return refusal(`${failure.error}: ${failure.message}`);
  const interrupts = values.__interrupt__;
  if (Array.isArray(interrupts) && interrupts.length > 0) return refusal(describe(interrupts));
  return { content: [toText(JSON.stringify(values))], structuredContent: values, isError: false };
}

/** Returns the text for an interrupted run: tool calls are stateless, so none can resume the interrupt. */
function describe(interrupts: unknown[]): string {
  const values = JSON.stringify(interrupts.map((one) => (isRecord(one) ? one.value : one)));
  return `The agent was interrupted with ${values}, which a tool call cannot resume: pass the value in the arguments, or create a run on a thread.`;
}

function refusal(text: string) {
  return { content: [toText(text)], isError: true };
}

function toText(text: string) {
  return { type: "text" as const, text };
}
