import { isRecord } from "../../shared/guards.ts";
import { type RpcId, rpcResult } from "../../shared/http/json-rpc.ts";

/**
 * A run's result, which comes as JSON behind newlines that keep the connection alive, as the answer
 * to a `tools/call`. The newlines go on: JSON may begin with them.
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
      const said = rpcResult(id, toToolResult(JSON.parse(text)));
      controller.enqueue(encoder.encode(JSON.stringify(said)));
    },
  });
  return result.pipeThrough(answer);
}

/** What the model reads is the text; programs read the same as it is. */
function toToolResult(values: unknown) {
  if (!isRecord(values)) return { content: [toText(JSON.stringify(values))], isError: false };
  const failure = values.__error__;
  if (isRecord(failure)) return refusal(`${failure.error}: ${failure.message}`);
  const questions = values.__interrupt__;
  if (Array.isArray(questions) && questions.length > 0) return refusal(toQuestion(questions));
  return { content: [toText(JSON.stringify(values))], structuredContent: values, isError: false };
}

/** Calls are stateless: what waits for an answer waits in vain. */
function toQuestion(questions: unknown[]): string {
  const asked = JSON.stringify(questions.map((one) => (isRecord(one) ? one.value : one)));
  return `The agent was interrupted with ${asked}, which a tool call cannot resume: pass the value in the arguments, or create a run on a thread.`;
}

function refusal(text: string) {
  return { content: [toText(text)], isError: true };
}

function toText(text: string) {
  return { type: "text" as const, text };
}
