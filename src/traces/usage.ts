import { isRecord } from "../shared/guards.ts";
import { addDecimals } from "./decimals.ts";
import type { JsonObject } from "./json.ts";

export type Usage = {
  prompt_tokens: number | null;
  completion_tokens: number | null;
  total_tokens: number | null;
  /** Exact decimals as text, in US dollars. */
  prompt_cost: string | null;
  completion_cost: string | null;
  total_cost: string | null;
};

export const NO_USAGE: Usage = {
  ...{ total_tokens: null, prompt_tokens: null, completion_tokens: null },
  ...{ total_cost: null, prompt_cost: null, completion_cost: null },
};

/**
 * Reads usage from the first place in the outputs that has any: `usage_metadata` of the outputs, of a message or of
 * generations, then LangChain's `llmOutput`, then `usage`.
 */
export function findUsage(outputs: unknown): Usage | null {
  if (!isRecord(outputs)) return null;
  return (
    fromUsageMetadata(outputs.usage_metadata) ??
    fromMessage(outputs) ??
    fromMessage(outputs.message) ??
    fromMessage(outputs.output) ??
    fromGenerations(outputs.generations) ??
    fromLlmOutput(outputs.llmOutput ?? outputs.llm_output) ??
    fromTokenUsage(outputs.usage)
  );
}

export function usageOfMetadata(metadata: JsonObject): Usage | null {
  return fromUsageMetadata(metadata.usage_metadata);
}

function fromMessage(value: unknown): Usage | null {
  if (!isRecord(value)) return null;
  const kwargs = isRecord(value.kwargs) ? value.kwargs : value;
  return fromUsageMetadata(kwargs.usage_metadata);
}

/** Adds the usage of all messages: a run has several when its model got a batch of prompts. */
function fromGenerations(value: unknown): Usage | null {
  if (!Array.isArray(value)) return null;
  const found = value
    .flat()
    .flatMap((one) => (isRecord(one) ? (fromMessage(one.message) ?? []) : []));
  return found.length === 0 ? null : found.reduce(addUsage);
}

function fromLlmOutput(value: unknown): Usage | null {
  if (!isRecord(value)) return null;
  return fromTokenUsage(
    value.tokenUsage ?? value.token_usage ?? value.estimatedTokenUsage ?? value.usage,
  );
}

function fromUsageMetadata(value: unknown): Usage | null {
  if (!isRecord(value)) return null;
  return toUsage(
    [value.input_tokens, value.output_tokens, value.total_tokens],
    [value.input_cost, value.output_cost, value.total_cost],
  );
}

function fromTokenUsage(value: unknown): Usage | null {
  if (!isRecord(value)) return null;
  return toUsage(
    [
      value.promptTokens ?? value.prompt_tokens ?? value.input_tokens,
      value.completionTokens ?? value.completion_tokens ?? value.output_tokens,
      value.totalTokens ?? value.total_tokens,
    ],
    [value.prompt_cost, value.completion_cost, value.total_cost],
  );
}

type Three = [unknown, unknown, unknown];

function toUsage(tokens: Three, costs: Three): Usage | null {
  const [prompt, completion, total] = tokens.map(toCount);
  const [prompt_cost, completion_cost, total_cost] = costs.map(toDecimal);
  const usage = {
    prompt_tokens: prompt ?? null,
    completion_tokens: completion ?? null,
    total_tokens: total ?? add(prompt, completion),
    prompt_cost: prompt_cost ?? null,
    completion_cost: completion_cost ?? null,
    total_cost: total_cost ?? addDecimals(prompt_cost, completion_cost),
  };
  return Object.values(usage).some((value) => value !== null) ? usage : null;
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    prompt_tokens: add(a.prompt_tokens, b.prompt_tokens),
    completion_tokens: add(a.completion_tokens, b.completion_tokens),
    total_tokens: add(a.total_tokens, b.total_tokens),
    prompt_cost: addDecimals(a.prompt_cost, b.prompt_cost),
    completion_cost: addDecimals(a.completion_cost, b.completion_cost),
    total_cost: addDecimals(a.total_cost, b.total_cost),
  };
}

function toCount(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

const MAX_PLACES = 30;
const DECIMAL = /^-?\d{1,30}(\.\d{1,30})?$/;

/** Returns a decimal as text without an exponent, `null` for other values. */
function toDecimal(value: unknown): string | null {
  if (typeof value === "string") return DECIMAL.test(value) ? value : null;
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  const [mantissa = "", exponent] = String(value).split("e");
  return exponent === undefined ? mantissa : withoutExponent(mantissa, Number(exponent));
}

/** Writes `1.5e-7` as 0.00000015. @returns `null` for a positive exponent or one below -30, which no cost has */
function withoutExponent(mantissa: string, exponent: number): string | null {
  if (exponent > 0 || exponent < -MAX_PLACES) return null;
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).padStart(1 - exponent, "0");
  const places = fraction.length - exponent;
  const sign = mantissa.startsWith("-") ? "-" : "";
  return `${sign}${digits.slice(0, -places).padStart(1, "0")}.${digits.slice(-places).padStart(places, "0")}`;
}

/** @returns `null` without numbers, and when a double cannot hold the sum exactly */
function add(a: number | null | undefined, b: number | null | undefined): number | null {
  return a == null && b == null ? null : toCount((a ?? 0) + (b ?? 0));
}
