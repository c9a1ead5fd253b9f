import { RUN_TYPES } from "../../ingest/ingest-schema.ts";
import type { Convention } from "./convention.ts";

/** https://docs.langchain.com/langsmith/trace-with-opentelemetry. Ids are read by `span-ids.ts`. */
export const LANGSMITH: Convention = {
  fields: {
    "langsmith.trace.name": "name",
    "langsmith.trace.session_name": "project",
    "langsmith.trace.session_id": "project_id",
    "langsmith.span.tags": "tags",
    "langsmith.usage_metadata": "usage",
    "langsmith.metadata.usage_metadata": "usage",
  },
  run_types: {
    "langsmith.span.kind": Object.fromEntries(RUN_TYPES.map((type) => [type, type])),
  },
  prefixes: {
    "langsmith.metadata.": "metadata",
  },
  lists: {},
};

/** OpenLLMetry: https://www.traceloop.com/docs/openllmetry/contributing/semantic-conventions */
export const TRACELOOP: Convention = {
  fields: {
    "traceloop.entity.name": "name",
    "traceloop.entity.input": "inputs",
    "traceloop.entity.output": "outputs",
    "llm.headers": "invocation_params.headers",
    "llm.chat.stop_sequences": "invocation_params.stop",
  },
  run_types: {
    "traceloop.span.kind": { tool: "tool", "*": "chain" },
    "traceloop.llm.request.type": { embedding: "embedding", "*": "llm" },
    "llm.request.type": { embedding: "embedding", rerank: "retriever", "*": "llm" },
  },
  prefixes: {
    "traceloop.association.properties.": "metadata",
  },
  lists: {
    "llm.request.functions.": "invocation_params.tools",
  },
};

/**
 * Attributes of an agent's span: https://ai.pydantic.dev/logfire/
 * Its spans of models and tools have the attributes of GenAI.
 */
export const PYDANTIC_AI: Convention = {
  fields: {
    "pydantic_ai.all_messages": "inputs.messages",
    final_result: "outputs",
  },
  run_types: {},
  prefixes: {},
  lists: {},
};

/** AI SDK of Vercel, before its spans had attributes of GenAI: https://ai-sdk.dev/docs/ai-sdk-core/telemetry */
export const VERCEL_AI_SDK: Convention = {
  fields: {
    "ai.prompt.messages": "inputs.messages",
    "ai.prompt.tools": "invocation_params.tools",
    "ai.prompt": "inputs",
    "ai.toolCall.name": "name",
    "ai.toolCall.args": "inputs",
    "ai.toolCall.result": "outputs",
    "ai.value": "inputs",
    "ai.values": "inputs",
    "ai.embedding": "outputs",
    "ai.embeddings": "outputs",
    "ai.response.object": "outputs",
    "ai.response.text": "outputs.text",
    "ai.response.toolCalls": "outputs.tool_calls",
    "ai.model.id": "invocation_params.model",
    "ai.model.provider": "metadata.ls_provider",
  },
  run_types: {
    "ai.operationId": {
      "ai.generatetext.dogenerate": "llm",
      "ai.streamtext.dostream": "llm",
      "ai.generateobject.dogenerate": "llm",
      "ai.streamobject.dostream": "llm",
      "ai.embed.doembed": "embedding",
      "ai.embedmany.doembed": "embedding",
      "ai.toolcall": "tool",
      "*": "chain",
    },
  },
  prefixes: {
    "ai.telemetry.metadata.": "metadata",
    "ai.settings.": "invocation_params",
  },
  lists: {},
};
