import { isRecord } from "../../../shared/guards.ts";
import { type CallerSpan, spanIdOf } from "../../../shared/metrics/trace-context.ts";
import { toMicros } from "../../../shared/times.ts";
import type { JsonObject } from "../../json.ts";
import type { Attributes, OtlpSpan, SpanEvent } from "../span.ts";
import { genAiMessages } from "./genai-messages.ts";

/** Fields to select for `toSpan`, besides `id`, `trace_id`, `name`, `run_type` and `start_time`. */
export const SPAN_FIELDS = [
  ...["parent_run_id", "end_time", "error", "inputs", "outputs", "extra", "tags"],
  ...["prompt_tokens", "completion_tokens", "thread_id", "first_token_time"],
];

/** Codes of a span's status. */
const [OK, ERROR] = [1, 2];
const NS_PER_US = 1000n;

const OPERATIONS: Record<string, string> = {
  llm: "chat",
  tool: "execute_tool",
  retriever: "retrieval",
  embedding: "embeddings",
};

/** Attributes of a model call, each with the names of its parameter: the first that is set counts. */
const PARAMETERS: [attribute: string, ...names: string[]][] = [
  ["gen_ai.request.model", "model", "model_name"],
  ["gen_ai.request.temperature", "temperature"],
  ["gen_ai.request.top_p", "top_p"],
  ["gen_ai.request.max_tokens", "max_tokens", "max_completion_tokens"],
  ["gen_ai.request.stop_sequences", "stop"],
];

/**
 * Converts a run of an API answer to a span.
 * @param caller span of the program that called the agent. The converted span is then in the caller's trace
 */
export function toSpan(run: JsonObject, caller: CallerSpan | null = null): OtlpSpan {
  const error = textOf(run.error);
  const end_time = run.end_time ?? run.start_time;
  return {
    trace_id: caller?.trace_id ?? textOf(run.trace_id)?.replaceAll("-", "") ?? "",
    span_id: spanIdOf(String(run.id)),
    parent_span_id: parentOf(run, caller),
    name: textOf(run.name) ?? "",
    start_ns: toNanos(run.start_time),
    end_ns: toNanos(end_time),
    attributes: attributesOf(run),
    events: [
      ...eventAt(run.first_token_time, "new_token", []),
      ...(error === null ? [] : eventAt(end_time, "exception", exceptionOf(error))),
    ],
    links: [],
    status: error === null ? { code: OK, message: "" } : { code: ERROR, message: lineOf(error) },
    scope: "",
    resource: new Map(),
  };
}

function attributesOf(run: JsonObject): Attributes {
  const extra = isRecord(run.extra) ? run.extra : {};
  const metadata = isRecord(extra.metadata) ? extra.metadata : {};
  const type = String(run.run_type);
  const isRoot = run.parent_run_id == null;
  const attributes: [string, unknown][] = [
    ["langsmith.span.kind", type],
    ["langsmith.trace.name", run.name],
    ["gen_ai.operation.name", OPERATIONS[type] ?? (isRoot ? "invoke_agent" : null)],
    ["gen_ai.agent.name", isRoot ? run.name : null],
    ["gen_ai.conversation.id", run.thread_id],
    [
      "langsmith.span.tags",
      Array.isArray(run.tags) && run.tags.length > 0 ? run.tags.join() : null,
    ],
    ...payloadsOf(run, type),
    ...(type === "llm" ? modelOf(run, extra, metadata) : []),
    ...Object.entries(metadata).map(([name, value]): [string, unknown] => [
      `langsmith.metadata.${name}`,
      value,
    ]),
  ];
  return new Map(attributes.filter(([, value]) => value !== null && value !== undefined));
}

/**
 * Returns the attributes of payloads: inputs and outputs as a whole, which observability products read, and for model
 * calls their messages too. A tool has its arguments and result instead.
 */
function payloadsOf({ name, inputs, outputs }: JsonObject, type: string): [string, unknown][] {
  const whole: [string, unknown][] = [
    ["gen_ai.prompt", toJson(inputs)],
    ["gen_ai.completion", toJson(outputs)],
  ];
  if (type === "tool") {
    return [
      ["gen_ai.tool.name", name],
      ["gen_ai.tool.call.arguments", toJson(inputs)],
      ["gen_ai.tool.call.result", toJson(outputs)],
    ];
  }
  if (type !== "llm") return whole;
  const [sent, received] = [genAiMessages(inputs), genAiMessages(outputs)];
  return [
    ...whole,
    ["gen_ai.input.messages", sent.length > 0 ? toJson(sent) : null],
    ["gen_ai.output.messages", received.length > 0 ? toJson(received) : null],
  ];
}

function modelOf(run: JsonObject, extra: JsonObject, metadata: JsonObject): [string, unknown][] {
  const given = isRecord(extra.invocation_params) ? extra.invocation_params : {};
  const parameters = { model: metadata.ls_model_name, ...given };
  return [
    ["gen_ai.provider.name", metadata.ls_provider],
    ["gen_ai.usage.input_tokens", run.prompt_tokens],
    ["gen_ai.usage.output_tokens", run.completion_tokens],
    ...PARAMETERS.map(([attribute, ...names]): [string, unknown] => {
      const name = names.find((each) => parameters[each as keyof typeof parameters] != null);
      return [attribute, name && parameters[name as keyof typeof parameters]];
    }),
  ];
}

function eventAt(time: unknown, name: string, attributes: [string, unknown][]): SpanEvent[] {
  if (typeof time !== "string") return [];
  return [{ name, time_ns: toNanos(time), attributes: new Map(attributes) }];
}

/** Splits an error: its first line is a message, often after `Type: `, and the rest is the stack. */
function exceptionOf(error: string): [string, string][] {
  const [, type = "Error", message = ""] = /^([A-Za-z_$][\w.$]{0,99}): ([^\n]*)/.exec(error) ?? [
    "",
    "Error",
    lineOf(error),
  ];
  const stack = error.slice(lineOf(error).length).trimStart();
  return [
    ["exception.type", type],
    ["exception.message", message],
    ...(stack === "" ? [] : [["exception.stacktrace", stack] as [string, string]]),
  ];
}

function lineOf(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function parentOf({ parent_run_id }: JsonObject, caller: CallerSpan | null): string {
  return typeof parent_run_id === "string" ? spanIdOf(parent_run_id) : (caller?.span_id ?? "");
}

function toNanos(time: unknown): bigint {
  return BigInt(toMicros(String(time)) ?? 0) * NS_PER_US;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function toJson(value: unknown): string | null {
  return value == null ? null : JSON.stringify(value);
}
