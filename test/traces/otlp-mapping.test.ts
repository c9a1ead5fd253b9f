import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/traces/otlp/json.ts";
import { decodeProtobuf } from "../../src/traces/otlp/protobuf.ts";
import { SpanIds } from "../../src/traces/otlp/span-ids.ts";
import { toRun } from "../../src/traces/otlp/to-run.ts";
import { hexId, type TestSpan, toJson, toProtobuf } from "./support/otlp.ts";

/** Returns the stored fields of one span, equal from both encodings. */
function runOf(fields: Partial<TestSpan>, resource: Record<string, string> = {}) {
  const span: TestSpan = { trace: hexId(16), id: hexId(8), start_ms: 1_763_712_000_000, ...fields };
  const [json, protobuf] = [
    decodeJson(toJson([span], resource)),
    decodeProtobuf(toProtobuf([span], resource)),
  ].map(({ spans: [decoded] }) => {
    if (decoded === undefined) throw new Error("The span was rejected.");
    const { payloads, columns, tags, ...run } = toRun(decoded, new SpanIds(), null);
    const [inputs, outputs, extra, events] = (
      ["inputs", "outputs", "extra", "events"] as const
    ).map((name) => {
      const payload = payloads[name];
      return payload && "text" in payload ? JSON.parse(payload.text) : undefined;
    });
    const { session_name, session_id, id, span_ids } = run;
    return {
      ...columns,
      id,
      span_ids,
      session_name,
      session_id,
      tags,
      inputs,
      outputs,
      extra,
      events,
    };
  });
  expect(json).toEqual(protobuf);
  if (json === undefined) throw new Error("The span was rejected.");
  return json;
}

test("a span whose parent is an id of zeros is a root", () => {
  const run = runOf({ parent: "0".repeat(16) });
  expect(run).toHaveProperty("dotted_order", expect.any(String));
  expect(run).not.toHaveProperty("parent_run_id");
});

describe("attributes of LangSmith", () => {
  test("name the run, its type, project, tags and metadata", () => {
    const run = runOf({
      name: "span",
      attributes: {
        "langsmith.trace.name": "named",
        "langsmith.span.kind": "Retriever",
        "langsmith.trace.session_name": "mine",
        "langsmith.span.tags": "a, b,a",
        "langsmith.metadata.user_id": "u1",
        "gen_ai.prompt": '{"question":"why"}',
        "gen_ai.completion": '{"usage_metadata":{"input_tokens":3,"output_tokens":4}}',
      },
    });
    expect(run).toMatchObject({
      name: "named",
      run_type: "retriever",
      session_name: "mine",
      tags: ["a", "b"],
      inputs: { question: "why" },
      outputs: { usage_metadata: { input_tokens: 3 } },
      extra: { metadata: { user_id: "u1" } },
    });
  });

  test("place a span below a run of another trace", () => {
    const [id, parent, trace] = [1, 2, 3].map(() => crypto.randomUUID());
    const run = runOf({
      attributes: {
        "langsmith.span.id": id ?? "",
        "langsmith.span.parent_id": parent ?? "",
        "langsmith.trace.id": trace ?? "",
      },
    });
    expect(run).toMatchObject({ id, trace_id: trace, parent_run_id: parent });
    expect(run.extra.metadata).toEqual({});
    expect(run.span_ids).toHaveLength(1);
    const attached = runOf({ attributes: { "langsmith.trace.id": trace ?? "" } });
    expect(attached).toMatchObject({ trace_id: trace, parent_run_id: trace });
  });

  test("name a project by id, or a conversation", () => {
    const id = crypto.randomUUID();
    expect(runOf({ attributes: { "langsmith.trace.session_id": id } }).session_id).toBe(id);
    const chat = runOf({ attributes: { "langsmith.trace.session_id": "chat-1" } });
    expect([chat.session_id, chat.extra.metadata]).toEqual([null, { session_id: "chat-1" }]);
  });

  test("are not needed: the SDK's root span has a parent that is never sent", () => {
    const trace = hexId(16);
    const run = runOf({ trace, parent: trace.slice(0, 16) });
    expect(run.parent_run_id).toBeUndefined();
    expect(run.id.replaceAll("-", "")).toBe(trace);
  });
});

describe("GenAI conventions", () => {
  test("name the model, its parameters, usage and provider", () => {
    const run = runOf({
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "small",
        "gen_ai.response.model": "small-2",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.usage.prompt_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 2,
        "gen_ai.conversation.id": "c1",
      },
    });
    expect(run.run_type).toBe("llm");
    expect(run.extra).toMatchObject({
      metadata: {
        ls_provider: "acme",
        ls_model_name: "small-2",
        conversation_id: "c1",
        usage_metadata: {
          input_tokens: 12,
          output_tokens: 5,
          input_token_details: { cache_read: 2 },
        },
      },
      invocation_params: { model: "small-2", temperature: 0.5, stop: ["END"] },
    });
  });

  test("have messages as JSON, as values, as numbered attributes and as events", () => {
    const messages = [{ role: "user", parts: [{ type: "text", content: "why" }] }];
    const both = { inputs: { messages }, outputs: { messages } };
    const names = ["gen_ai.input.messages", "gen_ai.output.messages"];
    const of = (value: never) => Object.fromEntries(names.map((name) => [name, value]));
    expect(runOf({ attributes: of(JSON.stringify(messages) as never) })).toMatchObject(both);
    expect(runOf({ attributes: of(messages as never) })).toMatchObject(both);
    const carrier = {
      name: "gen_ai.client.inference.operation.details",
      attributes: of(messages as never),
    };
    expect(runOf({ events: [carrier] })).toMatchObject(both);
    const numbered = runOf({
      attributes: {
        "gen_ai.prompt.10.content": "third",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "first",
        "gen_ai.prompt.2.message.role": "user",
        "gen_ai.prompt.2.message.content": "second",
        "gen_ai.completion.0.tool_calls.0.name": "search",
      },
    });
    expect(numbered.inputs.messages).toEqual([
      { role: "system", content: "first" },
      { role: "user", content: "second" },
      { content: "third" },
    ]);
    expect(numbered.outputs.messages).toEqual([{ tool_calls: [{ name: "search" }] }]);
    const events = runOf({
      events: [
        { name: "gen_ai.user.message", attributes: { content: "why", "gen_ai.system": "acme" } },
        { name: "gen_ai.choice", attributes: { finish_reason: "stop", "message.content": "so" } },
        { name: "new_token" },
      ],
    });
    expect(events.inputs.messages).toEqual([{ role: "user", content: "why" }]);
    expect(events.outputs.messages).toEqual([
      { role: "assistant", finish_reason: "stop", content: "so" },
    ]);
    expect(events.events).toEqual([{ name: "new_token", time: "2025-11-21T08:00:00.000000Z" }]);
  });

  test("name tools with their arguments and results", () => {
    const run = runOf({
      attributes: {
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q":"x"}',
        "gen_ai.tool.call.result": "found",
      },
    });
    expect(run).toMatchObject({
      run_type: "tool",
      inputs: { q: "x" },
      outputs: { output: "found" },
      extra: { invocation_params: { tool_name: "search" } },
    });
  });
});

describe("attributes of OpenInference", () => {
  test("have values, messages, tokens, costs and documents", () => {
    const model = runOf({
      attributes: {
        "openinference.span.kind": "LLM",
        "input.value": '{"raw":true}',
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "why",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
        "llm.token_count.prompt": 7,
        "llm.token_count.completion": 8,
        "llm.cost.total": 0.25,
        "llm.model_name": "small",
        "llm.invocation_parameters": '{"temperature":1}',
        metadata: '{"team":"blue"}',
        "session.id": "s1",
      },
    });
    expect(model).toMatchObject({
      run_type: "llm",
      inputs: { messages: [{ role: "user", content: [{ type: "text", text: "why" }] }] },
      outputs: { messages: [{ tool_calls: [{ function: { name: "search" } }] }] },
      extra: {
        metadata: {
          team: "blue",
          session_id: "s1",
          ls_model_name: "small",
          usage_metadata: { input_tokens: 7, output_tokens: 8, total_cost: 0.25 },
        },
        invocation_params: { temperature: 1, model: "small" },
      },
    });
    const retriever = runOf({
      attributes: {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "why",
        "retrieval.documents.0.document.content": "text",
        "retrieval.documents.0.document.metadata": '{"page":1}',
      },
    });
    expect(retriever).toMatchObject({
      run_type: "retriever",
      inputs: { input: "why" },
      outputs: { documents: [{ page_content: "text", metadata: { page: 1 } }] },
    });
  });
});

describe("attributes of Traceloop", () => {
  test("have entities, kinds and association properties", () => {
    const run = runOf({
      name: "use.task",
      attributes: {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "use",
        "traceloop.entity.input": '{"q":1}',
        "traceloop.entity.output": "[1,2]",
        "traceloop.association.properties.user": "u1",
      },
    });
    expect(run).toMatchObject({
      name: "use",
      run_type: "tool",
      inputs: { q: 1 },
      outputs: { output: [1, 2] },
      extra: { metadata: { user: "u1" } },
    });
  });
});

describe("a span", () => {
  test("keeps other attributes and those of its resource as metadata", () => {
    const run = runOf(
      {
        attributes: { "http.method": "GET", large: 2 ** 40, flag: true, list: [1, "a", { b: 2 }] },
      },
      { "service.name": "shop" },
    );
    expect(run.extra).toEqual({
      metadata: {
        "service.name": "shop",
        "http.method": "GET",
        large: 2 ** 40,
        flag: true,
        list: [1, "a", { b: 2 }],
      },
      otel: { scope: "test" },
    });
    expect([run.run_type, run.end_us]).toEqual(["chain", 1_763_712_000_010_000]);
  });

  test("fails by its status or an exception, unless its status is ok", () => {
    const exception = {
      name: "exception",
      attributes: { "exception.type": "ValueError", "exception.message": "it broke" },
    };
    expect(runOf({ status: { code: 2, message: "no" } }).error).toBe("no");
    expect(runOf({ status: { code: 2, message: "\ufeffno" } }).error).toBe("\ufeffno");
    expect(runOf({ status: { code: 2 } }).error).toBe("Error");
    expect(runOf({ status: { code: 2 }, events: [exception] }).error).toBe("ValueError: it broke");
    expect(runOf({ events: [exception] }).error).toBe("ValueError: it broke");
    expect(runOf({ status: { code: 1 }, events: [exception] }).error).toBeUndefined();
  });

  test("may have names of JavaScript's prototypes as attributes", () => {
    const run = runOf({
      attributes: {
        ["__proto__"]: "p",
        "langsmith.metadata.__proto__": "m",
        "gen_ai.prompt.0.__proto__": "n",
        "gen_ai.prompt.0.constructor": "n",
        "langsmith.span.kind": "__proto__",
        "openinference.span.kind": "constructor",
      },
      events: [{ name: "constructor" }, { name: "__proto__" }],
    });
    expect(run.events).toHaveLength(2);
    expect(run.run_type).toBe("chain");
    expect(Object.hasOwn(run.extra.metadata, "__proto__")).toBe(true);
    expect(Object.hasOwn(run.inputs.messages[0], "__proto__")).toBe(true);
  });
});
