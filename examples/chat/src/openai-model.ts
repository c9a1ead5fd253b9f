import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage, isToolMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { type CallOptions, type Piece, StreamingModel } from "./streaming-model.ts";

type Settings = { api_key: string; base_url: string; model: string };

type Delta = {
  content?: string | null;
  tool_calls?: {
    index: number;
    id?: string;
    function?: { name?: string; arguments?: string };
  }[];
};

type Event = {
  choices?: { delta?: Delta }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null;
};

/** Speaks the chat completions protocol, which most model servers understand. */
export class OpenAiModel extends StreamingModel {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    super();
    this.#settings = settings;
  }

  override _llmType(): string {
    return "openai-compatible";
  }

  protected override async *answer(
    messages: BaseMessage[],
    options: CallOptions,
  ): AsyncGenerator<Piece> {
    const { api_key, base_url, model } = this.#settings;
    const tools = options.tools?.map((tool) => convertToOpenAITool(tool));
    const response = await fetch(`${base_url.replace(/\/$/, "")}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model,
        messages: messages.map(toOpenAi),
        ...(tools?.length && { tools }),
        stream: true,
        stream_options: { include_usage: true },
      }),
      ...(options.signal && { signal: options.signal }),
    });
    if (!response.ok || !response.body) {
      const text = (await response.text()).slice(0, 500);
      throw new Error(`The model server answered ${response.status}: ${text}`);
    }
    for await (const event of readEvents(response.body)) yield* toPieces(event);
  }
}

function toOpenAi(message: BaseMessage) {
  if (isToolMessage(message)) {
    return { role: "tool", tool_call_id: message.tool_call_id, content: message.text };
  }
  if (isAIMessage(message)) {
    const tool_calls = message.tool_calls?.map(({ id, name, args }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    return { role: "assistant", content: message.text, ...(tool_calls?.length && { tool_calls }) };
  }
  return { role: message.type === "system" ? "system" : "user", content: message.content };
}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  for await (const line of readLines(body)) {
    const data = line.startsWith("data:") ? line.slice(5).trim() : "";
    if (data && data !== "[DONE]") yield JSON.parse(data) as Event;
  }
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const bytes of body) {
    const lines = (buffer + decoder.decode(bytes, { stream: true })).split("\n");
    buffer = lines.pop() ?? "";
    yield* lines;
  }
  yield buffer;
}

function* toPieces({ choices, usage }: Event): Generator<Piece> {
  const delta = choices?.[0]?.delta;
  if (delta?.content) yield { text: delta.content };
  for (const { index, id, function: called } of delta?.tool_calls ?? []) {
    yield {
      tool_call: {
        index,
        ...(id && { id }),
        ...(called?.name && { name: called.name }),
        ...(called?.arguments !== undefined && { args: called.arguments }),
      },
    };
  }
  if (usage) {
    const { prompt_tokens, completion_tokens, total_tokens } = usage;
    yield {
      usage: { input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens },
    };
  }
}
