import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";

export type CallOptions = BaseChatModelCallOptions & { tools?: BindToolsInput[] };

/** A piece of an answer. */
export type Piece = {
  text?: string;
  tool_call?: { index: number; id?: string; name?: string; args?: string };
  usage?: UsageMetadata;
};

/** A chat model whose subclass defines the pieces of its answer. */
export abstract class StreamingModel extends BaseChatModel<CallOptions> {
  constructor() {
    super({});
  }

  protected abstract answer(messages: BaseMessage[], options: CallOptions): AsyncGenerator<Piece>;

  override bindTools(tools: BindToolsInput[], options: Partial<CallOptions> = {}) {
    return this.withConfig({ ...options, tools });
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    // Readers of the stream join the pieces of a message by its id.
    const id = `answer-${crypto.randomUUID()}`;
    for await (const { text = "", tool_call, usage } of this.answer(messages, options)) {
      options.signal?.throwIfAborted();
      const message = new AIMessageChunk({
        id,
        content: text,
        tool_call_chunks: tool_call ? [{ type: "tool_call_chunk", ...tool_call }] : [],
        ...(usage && { usage_metadata: usage }),
      });
      const chunk = new ChatGenerationChunk({ message, text });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    let whole: ChatGenerationChunk | undefined;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager)) {
      whole = whole ? whole.concat(chunk) : chunk;
    }
    if (!whole) throw new Error("The model answered nothing");
    return { generations: [whole] };
  }
}
