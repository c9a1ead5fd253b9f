import { z } from "zod";
import { answerOf, Failure } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import type { Checkpoint } from "../../../../isolate/checkpoint-contract.ts";
import type { AgentFailure, RunOutcome, ThreadSummary } from "../../../../isolate/contract.ts";
import type { TraceBatch } from "../../../../isolate/trace-contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { plainObject } from "../../../../shared/plain.ts";
import { isJsonOf, isJsonWithin } from "../../contract/json-text.ts";
import { MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS } from "../../contract/sizes.ts";
import {
  MAX_ANSWER_CHARACTERS,
  MAX_ANSWER_CONTAINERS,
  MAX_ENTRIES,
  MAX_INTERRUPTS_CHARACTERS,
  MAX_INTERRUPTS_CONTAINERS,
  MAX_VALUES_CHARACTERS,
  MAX_VALUES_CONTAINERS,
} from "./limits.ts";
import { type ParsedOps, parseOps } from "./ops.ts";

/** Return values of an agent's isolate. */

const Interrupts = z.record(
  z.string(),
  z.array(z.looseObject({ id: z.string().max(MAX_NAME_CHARACTERS).optional() })),
);

const Summary: z.ZodType<ThreadSummary> = z.object({
  values: z
    .string()
    .max(MAX_VALUES_CHARACTERS)
    .refine(
      (text) => isJsonWithin(text, MAX_VALUES_CONTAINERS),
      `is not JSON text of at most ${MAX_VALUES_CONTAINERS} objects and lists`,
    ),
  next: z
    .array(z.unknown())
    .max(MAX_ENTRIES)
    .pipe(z.array(z.string().max(MAX_NAME_CHARACTERS))),
  interrupts: z
    .string()
    .max(MAX_INTERRUPTS_CHARACTERS)
    .refine(
      (text) => isJsonOf(Interrupts, text, MAX_INTERRUPTS_CONTAINERS),
      `is not JSON text of at most ${MAX_INTERRUPTS_CONTAINERS} objects and lists`,
    ),
});

// Built once: a schema takes longer to build than to parse with.
const NullableSummary = Summary.nullable();

const Pull = z.custom<RunOutcome["traces"]>((value) => value === null || isCallable(value));

const Outcome = z.object({
  ops: z.unknown(),
  failure: Failure.nullable(),
  is_timeout: z.boolean(),
  summary: z.unknown(),
  traces: Pull,
});

const Batch = z.object({ ops: z.unknown(), isLast: z.boolean() });

type ParsedOutcome = Omit<RunOutcome, "ops"> & ParsedOps;

/** @throws AppError when it is not the outcome of a run */
export function parseOutcome(value: unknown): ParsedOutcome {
  const { ops, summary: sent, ...outcome } = parse("outcome", Outcome, value);
  return { ...outcome, summary: parseSummary(sent, outcome.failure), ...parseOps(ops) };
}

/** A run that failed keeps the agent's failure as its error, also when its summary is invalid. */
function parseSummary(sent: unknown, failure: AgentFailure | null): ThreadSummary | null {
  if (failure !== null) return Summary.safeParse(sent).data ?? null;
  return parse("summary", NullableSummary, sent);
}

export function parseTraceBatch(value: unknown): TraceBatch & { bytes: number } {
  const { ops: sent, isLast } = parse("traces", Batch, value);
  const { ops, bytes } = parseOps(sent);
  return { isLast, ops: ops.filter((op) => op.op === "trace"), bytes };
}

// Limits the containers, because a state is parsed to select its fields.
const JsonText = z
  .string()
  .max(MAX_ANSWER_CHARACTERS)
  .refine(
    (text) => isJsonWithin(text, MAX_ANSWER_CONTAINERS),
    `is not JSON text of at most ${MAX_ANSWER_CONTAINERS} objects and lists`,
  );
const CheckpointRef: z.ZodType<Checkpoint> = z.object({
  thread_id: z.string().max(MAX_NAME_CHARACTERS),
  checkpoint_id: z.string().max(MAX_NAME_CHARACTERS),
  checkpoint_ns: z.string().max(MAX_PATH_CHARACTERS),
  checkpoint_map: plainObject().nullable(),
});

export const TextAnswer = answerOf(JsonText);
export const SummaryAnswer = answerOf(Summary);
export const UpdateAnswer = answerOf(z.object({ checkpoint: CheckpointRef, summary: Summary }));

/** @throws AppError that names the field */
export function parse<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  const path = [what, ...(first?.path ?? [])].map(String).join(".");
  throw new AppError("invalid_request", `${path}: ${first?.message}`);
}

function isCallable(value: unknown): boolean {
  return typeof value === "function";
}
