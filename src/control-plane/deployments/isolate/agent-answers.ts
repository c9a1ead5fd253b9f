import { z } from "zod";
import type { AgentFailure, Answer } from "../../../isolate/contract.ts";
import { AppError } from "../../../shared/errors.ts";

/** Parses answers of an agent's isolate. They are untrusted, because the agent's code can replace the entrypoint. */

/** Longer texts of a failure are cut, because a failure is stored in one column of the run and one of its thread. */
const MAX_ERROR_NAME_CHARACTERS = 256;
const MAX_ERROR_MESSAGE_CHARACTERS = 8192;
const MAX_STACK_CHARACTERS = 16_384;

function truncatedText(max: number) {
  return z.string().transform((text) => text.slice(0, max));
}

export const Failure: z.ZodType<AgentFailure> = z.object({
  error: truncatedText(MAX_ERROR_NAME_CHARACTERS),
  message: truncatedText(MAX_ERROR_MESSAGE_CHARACTERS),
  stack: truncatedText(MAX_STACK_CHARACTERS).nullable(),
});

export function answerOf<T>(value: z.ZodType<T>): z.ZodType<Answer<T>> {
  return z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), value }),
    z.object({ ok: z.literal(false), error: Failure }),
  ]) as unknown as z.ZodType<Answer<T>>;
}

/** @throws AppError (502) that names the field */
export function parseAnswer<T>(call: string, schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (!error) return data as T;
  const text = `The agent's code returned an invalid result for ${call}: ${problemOf(error)}`;
  throw AppError.answer(text, { status: 502, headers: [] });
}

export function problemOf({ issues: [first] }: z.ZodError): string {
  const path = (first?.path ?? []).map(String).join(".").slice(0, MAX_ERROR_NAME_CHARACTERS);
  return path === "" ? `${first?.message}` : `${path}: ${first?.message}`;
}
