import type { TraceSpan } from "../../traces/live/trace-schema.ts";
import type { IconName } from "../ui/icon.tsx";
import type { StatusKind } from "../ui/icons/status-kind.ts";

export type SpanKind = { word: string; icon: IconName; tone: string };

const STEP: SpanKind = { word: "step", icon: "step", tone: "k-chain" };

const KINDS: Record<string, SpanKind> = {
  LLM: { word: "model", icon: "spark", tone: "k-llm" },
  TOOL: { word: "tool", icon: "wrench", tone: "k-tool" },
  RETRIEVER: { word: "retriever", icon: "search", tone: "k-retriever" },
  EMBEDDING: { word: "retriever", icon: "search", tone: "k-retriever" },
  PROMPT: { word: "prompt", icon: "document", tone: "k-prompt" },
};

/** Kinds that the legend of a trace explains. */
export const LEGEND = [KINDS.LLM, KINDS.TOOL, KINDS.RETRIEVER, STEP].filter(
  (kind) => kind !== undefined,
);

export function kindOf(run_type: string): SpanKind {
  return KINDS[run_type.toUpperCase()] ?? STEP;
}

export function statusOf(status: string): { kind: StatusKind; word: string } {
  if (status.toUpperCase() === "ERROR") return { kind: "failed", word: "Failed" };
  if (status.toUpperCase() === "PENDING") return { kind: "running", word: "Running" };
  return { kind: "ok", word: "Success" };
}

export function firstTokenMs({
  start_time,
  first_token_time,
}: Pick<TraceSpan, "start_time" | "first_token_time">): number | null {
  return first_token_time === null ? null : Date.parse(first_token_time) - Date.parse(start_time);
}
