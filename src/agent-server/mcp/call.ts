import { isRecord } from "../../shared/guards.ts";
import { type RpcId, rpcResult } from "../../shared/http/json-rpc.ts";

/**
 * Converts the result of a run to the response of a `tools/call`. Keeps the newlines before it, which keep the
 * connection alive: JSON may begin with them.
 */
export function toToolAnswer(id: RpcId, result: ReadableStream): ReadableStream {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = "";
  const answer = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true });
      if (text.trim() !== "") return;
      controller.enqueue(encoder.encode(text));
      text = "";
    },
    flush(controller) {
      const response = rpcResult(id, toToolResult(JSON.parse(text)));
      controller.enqueue(encoder.encode(JSON.stringify(response)));
    },
  });
  return result.pipeThrough(answer);
}

/** Models read the text, programs the structured content. */
function toToolResult(values: unknown) {
  if (values === null) return refusal("The run was cancelled.");
  if (!isRecord(values)) return { content: [toText(JSON.stringify(values))], isError: false };
  const failure = values.__error__;
  if (isRecord(failure)) return refusal(`${failure.error}: ${failure.message}`);
  const questions = values.__interrupt__;
  if (Array.isArray(questions) && questions.length > 0) return refusal(toQuestion(questions));
  return { content: [toText(JSON.stringify(values))], structuredContent: values, isError: false };
}

/** Tool calls are stateless and cannot resume an interrupt. */
function toQuestion(questions: unknown[]): string {
  const interrupts = JSON.stringify(questions.map((one) => (isRecord(one) ? one.value : one)));
  return `The agent was interrupted with ${interrupts}, which a tool call cannot resume: pass the value in the arguments, or create a run on a thread.`;
}

function refusal(text: string) {
  return { content: [toText(text)], isError: true };
}

function toText(text: string) {
  return { type: "text" as const, text };
}
