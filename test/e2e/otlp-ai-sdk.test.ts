import { LegacyOpenTelemetry, OpenTelemetry } from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

type Run = {
  id: string;
  parent_run_id: string | null;
  name: string;
  run_type: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  total_tokens: number | null;
  extra: { metadata: Record<string, unknown>; invocation_params?: Record<string, unknown> };
};
type Message = { role: string; content?: unknown; parts?: unknown; tool_calls?: unknown };

const USAGE = {
  inputTokens: { total: 10, noCache: 8, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** A model that calls the tool, and then answers. */
function localModel() {
  const answers = [
    { type: "tool-call", toolCallId: "c1", toolName: "find", input: '{"query":"prices"}' },
    { type: "text", text: "the answer" },
  ] as const;
  let calls = 0;
  return new MockLanguageModelV4({
    provider: "local",
    modelId: "m-1",
    doGenerate: async () => {
      const answer = answers[calls++] ?? answers[1];
      const unified = answer.type === "text" ? ("stop" as const) : ("tool-calls" as const);
      return {
        ...{ content: [answer], usage: USAGE, warnings: [] },
        finishReason: { unified, raw: unified },
      };
    },
  });
}

async function traced(Integration: typeof OpenTelemetry | typeof LegacyOpenTelemetry) {
  const project = `ai-${crypto.randomUUID()}`;
  const exporter = new OTLPTraceExporter({
    url: `${stack.base_url}/otel/v1/traces`,
    headers: { "x-api-key": stack.api_key, "Langsmith-Project": project },
  });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const { text } = await generateText({
    ...{ model: localModel(), system: "be brief", prompt: "why", temperature: 0.5 },
    stopWhen: stepCountIs(3),
    tools: {
      find: tool({
        description: "Finds.",
        inputSchema: z.object({ query: z.string() }),
        execute: async ({ query }) => `found ${query}`,
      }),
    },
    telemetry: {
      functionId: "ask",
      integrations: [new Integration({ tracer: provider.getTracer("ai") })],
    },
  });
  expect(text).toBe("the answer");
  await provider.shutdown();
  const [found] = (await request<{ id: string }[]>("GET", `/sessions?name=${project}`)).body;
  const query = { session: [found?.id], order: "asc", limit: 100 };
  const { runs } = (await request<{ runs: Run[] }>("POST", "/runs/query", query)).body;
  const root = runs.find(({ parent_run_id }) => parent_run_id === null);
  return { runs, root, of: (type: string) => runs.filter(({ run_type }) => run_type === type) };
}

const messagesOf = ({ messages }: Record<string, unknown>) => messages as Message[];

test("the AI SDK's spans of the GenAI conventions are an agent with steps, model calls and a tool", async () => {
  const { root, of } = await traced(OpenTelemetry);
  const [calls, tools] = [of("llm"), of("tool")];
  expect(root).toMatchObject({ run_type: "chain", total_tokens: 30 });
  expect(messagesOf(root?.inputs ?? {})[0]).toMatchObject({ role: "user" });
  expect(calls.map((run) => run.total_tokens)).toEqual([15, 15]);
  expect(calls[0]?.inputs.system_instructions).toEqual([{ type: "text", content: "be brief" }]);
  expect(messagesOf(calls[0]?.outputs ?? {})[0]?.parts).toEqual([
    { type: "tool_call", id: "c1", name: "find", arguments: { query: "prices" } },
  ]);
  expect(calls[0]?.extra).toMatchObject({
    metadata: { ls_provider: "local", ls_model_name: "m-1" },
    invocation_params: { temperature: 0.5 },
  });
  expect(tools).toMatchObject([{ inputs: { query: "prices" } }]);
  expect(JSON.stringify(tools[0]?.outputs)).toContain("found prices");
});

test("the AI SDK's spans of earlier versions have the same messages, tokens and tool", async () => {
  const { root, of } = await traced(LegacyOpenTelemetry);
  const [calls, tools] = [of("llm"), of("tool")];
  expect(root).toMatchObject({
    ...{ name: "ai.generateText", run_type: "chain", total_tokens: 30 },
    outputs: { messages: [{ role: "assistant", content: "the answer" }] },
  });
  expect(JSON.stringify(root?.inputs)).toContain("why");
  expect(calls.map((run) => run.total_tokens)).toEqual([15, 15]);
  expect(messagesOf(calls[0]?.inputs ?? {}).map(({ role }) => role)).toEqual(["system", "user"]);
  expect(calls.map(({ outputs }) => messagesOf(outputs))).toEqual([
    [
      {
        ...{ role: "assistant", content: "" },
        tool_calls: [{ id: "c1", name: "find", args: { query: "prices" }, type: "tool_call" }],
      },
    ],
    [{ role: "assistant", content: "the answer" }],
  ]);
  expect(calls[0]?.extra).toMatchObject({
    metadata: { ls_provider: "local", ls_model_name: "m-1" },
    invocation_params: { temperature: 0.5 },
  });
  expect(tools).toMatchObject([{ name: "find", inputs: { query: "prices" } }]);
  expect(JSON.stringify(tools[0]?.outputs)).toContain("found prices");
});
