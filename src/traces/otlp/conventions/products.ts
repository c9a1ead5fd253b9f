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

/** Attributes of an agent's span: https://ai.pydantic.dev/logfire/. Spans of models and tools have those of GenAI. */
export const PYDANTIC_AI: Convention = {
  fields: {
    "pydantic_ai.all_messages": "inputs.messages",
    final_result: "outputs",
  },
  run_types: {},
  prefixes: {},
  lists: {},
};
