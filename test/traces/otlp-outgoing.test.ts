import { describe, expect, test } from "vitest";
import { parseTraceparent } from "../../src/shared/metrics/trace-context.ts";
import { encodeSpans } from "../../src/traces/otlp/outgoing/encode.ts";
import { toSpan } from "../../src/traces/otlp/outgoing/from-run.ts";
import { isExportOn, otlpTarget } from "../../src/traces/otlp/outgoing/target.ts";
import { decodeProtobuf } from "../../src/traces/otlp/protobuf.ts";
import { SpanIds } from "../../src/traces/otlp/span-ids.ts";
import { toRun } from "../../src/traces/otlp/to-run.ts";

const ROOT = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";
const MODEL = "019a2b3c-4d5e-7f60-9a1b-2c3d4e5f6072";
const BASE = {
  ...{ trace_id: ROOT, start_time: "2026-11-28T04:00:00.000001Z", tags: [], error: null },
  ...{ end_time: "2026-11-28T04:00:02.500000Z", first_token_time: null, thread_id: "t-1" },
};

/** Sends a run and reads it, as another instance does that receives it. */
function received(run: object) {
  const body = encodeSpans(new Map([["service.name", "chat"]]), "heddle", [
    toSpan({ ...BASE, ...run }),
  ]);
  const { spans, rejected } = decodeProtobuf(body);
  expect(rejected).toBe(0);
  const [span] = spans;
  if (span === undefined) throw new Error("The span was rejected.");
  const { id, columns, payloads, tags } = toRun(span, new SpanIds(), null);
  const read = Object.entries(payloads).map(([name, payload]) => [
    name,
    "text" in payload ? JSON.parse(payload.text) : null,
  ]);
  return { id, ...columns, tags, ...Object.fromEntries(read), attributes: span.attributes };
}

test("the root of a trace arrives as it was, with its inputs, outputs, tags and metadata", () => {
  const inputs = { question: "Wo ist 1042? \u{1f600}", deep: { n: [1, 2.5, null] } };
  const metadata = { user_id: "u-1", tries: 3, share: 0.25, nested: { a: 1 } };
  const run = received({
    ...{ id: ROOT, parent_run_id: null, name: "chat", run_type: "chain", inputs },
    ...{ outputs: { answer: "here" }, tags: ["a", "b"], extra: { metadata } },
  });
  expect(run).toMatchObject({
    ...{ id: ROOT, trace_id: ROOT, name: "chat", run_type: "chain", tags: ["a", "b"], inputs },
    ...{ outputs: { answer: "here" }, start_us: 1795838400000001, end_us: 1795838402500000 },
  });
  expect(run.parent_run_id).toBeUndefined();
  expect(run.extra.metadata).toMatchObject({
    ...{ user_id: "u-1", tries: 3, share: 0.25, nested: '{"a":1}', conversation_id: "t-1" },
    "service.name": "chat",
  });
  expect(Object.fromEntries(run.attributes)).toMatchObject({
    ...{ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "chat" },
    "gen_ai.conversation.id": "t-1",
  });
});

test("messages of a chat API, of chunks and of any role are in the spans of a model call", () => {
  const lc = (name: string, kwargs: object) => ({
    ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs },
  });
  const messages = [
    lc("SystemMessageChunk", { content: "Be brief." }),
    lc("ToolMessageChunk", { content: "42", tool_call_id: "c0" }),
    lc("ChatMessage", { content: "Go", role: "developer" }),
    { role: "user", content: [{ image_url: "x" }] },
  ];
  const message = { role: "assistant", content: "It is 42." };
  const run = received({
    ...{ id: MODEL, parent_run_id: ROOT, name: "ChatModel", run_type: "llm" },
    ...{ inputs: { messages }, outputs: { choices: [{ index: 0, message }] } },
  });
  expect(run.inputs).toEqual({
    messages: [
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c0", response: "42" }] },
      { role: "developer", parts: [{ type: "text", content: "Go" }] },
      { role: "user", parts: [{ type: "unknown", image_url: "x" }] },
    ],
  });
  expect(run.outputs).toEqual({
    messages: [{ role: "assistant", parts: [{ type: "text", content: "It is 42." }] }],
  });
});

test("a model call has its messages, parameters and tokens by the conventions", () => {
  const lc = (name: string, kwargs: object) => ({
    ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs },
  });
  const call = { id: "c1", name: "search", args: { query: "prices" } };
  const messages = [
    lc("SystemMessage", { content: "Be brief." }),
    lc("HumanMessage", {
      content: [
        { type: "text", text: "What?" },
        { type: "image_url", image_url: "x" },
      ],
    }),
    lc("ToolMessage", { content: "42", tool_call_id: "c0" }),
  ];
  const answer = lc("AIMessageChunk", { content: "", tool_calls: [call] });
  const run = received({
    ...{ id: MODEL, parent_run_id: ROOT, name: "ChatModel", run_type: "llm" },
    ...{ inputs: { messages: [messages] }, outputs: { generations: [[{ message: answer }]] } },
    ...{ prompt_tokens: 900, completion_tokens: 280, first_token_time: "2026-11-28T04:00:01Z" },
    extra: {
      invocation_params: { model: "m-1", temperature: 0.5, stop: ["END"] },
      metadata: { ls_provider: "acme" },
    },
  });
  expect(run.inputs).toEqual({
    messages: [
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      {
        role: "user",
        parts: [
          { type: "text", content: "What?" },
          { type: "image_url", image_url: "x" },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c0", response: "42" }] },
    ],
  });
  expect(run.outputs).toEqual({
    messages: [
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "c1", name: "search", arguments: { query: "prices" } }],
      },
    ],
  });
  expect(run.extra).toMatchObject({
    invocation_params: { model: "m-1", temperature: 0.5, stop: ["END"] },
    metadata: {
      ...{ ls_provider: "acme", ls_model_name: "m-1" },
      usage_metadata: { input_tokens: 900, output_tokens: 280 },
    },
  });
  expect(run).toMatchObject({ trace_id: ROOT, run_type: "llm" });
  expect(run.events).toEqual([{ name: "new_token", time: "2026-11-28T04:00:01.000000Z" }]);
});

test("a tool that fails has its arguments, its error and its stack", () => {
  const error = "RangeError: out of range\n    at lookup (agent.ts:4:11)";
  const run = received({
    ...{ id: MODEL, parent_run_id: ROOT, name: "lookup", run_type: "tool", error },
    ...{ inputs: { input: '{"id":7}' }, outputs: null, extra: {} },
  });
  expect(run).toMatchObject({ run_type: "tool", name: "lookup", inputs: { input: '{"id":7}' } });
  expect(run.error).toBe("RangeError: out of range\n\nat lookup (agent.ts:4:11)");
  expect(Object.fromEntries(run.attributes)).toMatchObject({
    ...{ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup" },
  });
});

test("a child names the span of its parent, in the trace of its root", () => {
  const span = (run: object) => toSpan({ ...BASE, name: "x", run_type: "chain", ...run });
  const root = span({ id: ROOT, parent_run_id: null });
  const child = span({ id: MODEL, parent_run_id: ROOT });
  expect(root).toMatchObject({ trace_id: ROOT.replaceAll("-", ""), parent_span_id: "" });
  expect(child).toMatchObject({ trace_id: root.trace_id, parent_span_id: root.span_id });
  expect(root.span_id).toMatch(/^[0-9a-f]{16}$/);
});

test("a run that was called from a span is in the trace of its caller, below that span", () => {
  const caller = parseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const span = (run: object) => toSpan({ ...BASE, name: "x", run_type: "chain", ...run }, caller);
  const [root, child] = [
    span({ id: ROOT, parent_run_id: null }),
    span({ id: MODEL, parent_run_id: ROOT }),
  ];
  expect(root).toMatchObject({
    trace_id: "0af7651916cd43dd8448eb211c80319c",
    parent_span_id: "b7ad6b7169203331",
  });
  expect(child).toMatchObject({ trace_id: root.trace_id, parent_span_id: root.span_id });
});

test("a traceparent has further fields only in versions after the first", () => {
  const ids = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  expect(parseTraceparent(`00-${ids}-x`)).toBeNull();
  expect(parseTraceparent(`01-${ids}-x`)).toMatchObject({ span_id: "b7ad6b7169203331" });
});

describe("variables of an exporter", () => {
  test("are those of OpenTelemetry, and the switch is LangSmith's", () => {
    expect([isExportOn({}), isExportOn({ LANGSMITH_OTEL_ENABLED: " TRUE " })]).toEqual([
      false,
      true,
    ]);
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://otel.example:4318/base/",
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=a%3Db, Langsmith-Project = mine",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=prod",
    };
    expect(otlpTarget(variables, "chat")).toEqual({
      url: "https://otel.example:4318/base/v1/traces",
      headers: { "x-api-key": "a=b", "Langsmith-Project": "mine" },
      resource: { "service.name": "chat", "deployment.environment": "prod" },
    });
    const traces = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://t.example/x",
      OTEL_SERVICE_NAME: "s",
    };
    expect(otlpTarget({ ...variables, ...traces }, "chat")).toMatchObject({
      url: "https://t.example/x",
      resource: { "service.name": "s" },
    });
  });

  test.each([
    [{}, /^OTEL_EXPORTER_OTLP_ENDPOINT: /],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" }, /^OTEL_EXPORTER_OTLP_ENDPOINT: /],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /must be http\/protobuf, not grpc/],
  ])("are refused with their reason: %j", (variables, reason) => {
    expect(otlpTarget(variables, "chat")).toMatch(reason);
  });
});
