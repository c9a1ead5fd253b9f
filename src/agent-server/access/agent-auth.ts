import type { z } from "zod";
import { parseAnswer } from "../../control-plane/deployments/isolate/agent-answers.ts";
import { agentIsolate, giveUpUnloaded } from "../../control-plane/deployments/isolate/isolate.ts";
import type { AuthAnswered, AuthEntrypoint } from "../../isolate/auth-contract.ts";
import type { Access } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

type RevisionRef = Access["revision"];

type AuthCalls = "authenticateRequest" | "authorize" | "matchesPattern";

/**
 * Calls the agent's own authentication.
 * @throws AppError with the status and the text that the agent's code refuses with
 */
export async function callAuth<T>(
  env: Env,
  revision: RevisionRef,
  call: AuthCalls,
  schema: z.ZodType<AuthAnswered<T>>,
  ask: (auth: AuthEntrypoint) => Promise<unknown>,
): Promise<T> {
  const answer = await callIsolate(env, revision, call, schema, ask);
  if (answer.ok) return answer.value;
  const { message, ...rest } = answer.refusal;
  throw AppError.answer(message, rest);
}

/** Calls the isolate and parses what it answers: the agent's code may answer anything. */
export async function callIsolate<T>(
  env: Env,
  revision: RevisionRef,
  call: AuthCalls,
  schema: z.ZodType<T>,
  ask: (agent: AuthEntrypoint) => Promise<unknown>,
): Promise<T> {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  const answer = await reachIsolate(revision, () =>
    ask(agentIsolate(env, revision) as unknown as AuthEntrypoint),
  );
  return parseAnswer(call, schema, answer);
}

/** What is lost with an isolate that never came up, or whose revision knows nothing of such calls. */
export async function reachIsolate<T>(revision: RevisionRef, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    giveUpUnloaded(revision);
    throw isOlder(error) ? notServed(error) : error;
  }
}

function notServed(cause: unknown): AppError {
  const text = "This revision cannot serve its auth or http configuration: create a new revision.";
  return new AppError("unavailable", text, { cause });
}

/** An artifact without these calls would be open to all if they were passed over. */
function isOlder(error: unknown): boolean {
  return error instanceof Error && /does not (implement|export a fetch)/.test(error.message);
}
