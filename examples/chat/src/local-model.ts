import type { BaseMessage } from "@langchain/core/messages";
import { type CallOptions, type Piece, StreamingModel } from "./streaming-model.ts";

const TOKEN_MS = 15;

/** Needs no key and no network, and answers the same words each time. */
export class LocalModel extends StreamingModel {
  override _llmType(): string {
    return "local";
  }

  protected override async *answer(
    messages: BaseMessage[],
    { tools = [] }: CallOptions,
  ): AsyncGenerator<Piece> {
    const call = tools.length > 0 ? chooseTool(messages) : undefined;
    const words = call ? [] : reply(messages).split(/(?<= )/);
    if (call) {
      yield { tool_call: { index: 0, id: `call-${messages.length}`, ...call } };
    }
    for (const text of words) {
      await new Promise((resolve) => setTimeout(resolve, TOKEN_MS));
      yield { text };
    }
    const input_tokens = messages.map(({ text }) => text.split(/\s+/).length).reduce(add, 0);
    const output_tokens = Math.max(1, words.length);
    yield { usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens } };
  }
}

function chooseTool(messages: BaseMessage[]): { name: string; args: string } | undefined {
  const last = messages.at(-1);
  if (last?.type !== "human") return undefined;
  const refund = /refund order (\w+) (?:with|by|of) (\d+(?:\.\d+)?)/i.exec(last.text);
  if (refund) {
    const args = { order_id: refund[1], amount: Number(refund[2]) };
    return { name: "refund_order", args: JSON.stringify(args) };
  }
  const expression = /[\d(][\d\s.()+*/-]*[+*/-][\d\s.()+*/-]*[\d)]/.exec(last.text)?.[0];
  if (!expression) return undefined;
  return { name: "calculate", args: JSON.stringify({ expression }) };
}

function reply(messages: BaseMessage[]): string {
  const last = messages.at(-1);
  if (last?.type === "tool") return `Done: ${last.text}`;
  const turn = messages.filter(({ type }) => type === "human").length;
  return `You said "${last?.text ?? ""}", your message number ${turn}. Ask me to calculate 6 * 7, or to refund order 1042 with 19.90.`;
}

function add(a: number, b: number): number {
  return a + b;
}
