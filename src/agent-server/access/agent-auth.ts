import type { z } from "zod";
import { parseAnswer } from "../../control-plane/deployments/isolate/agent-answers.ts";
import {
  abandonFailedLoad,
  agentIsolate,
} from "../../control-plane/deployments/isolate/isolate.ts";
import type { AuthEntrypoint, AuthResult } from "../../isolate/auth-contract.ts";
import type { Access } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

type RevisionRef = Access["revision"];

type AuthMethod = "authenticateRequest" | "authorize" | "matchesPattern";

/**
 * Calls the agent's own authentication.
 * @throws AppError with the status and the text that the agent's code refuses with
 */
export async function callAuth<T>(
  env: Env,
  revision: RevisionRef,
  method: AuthMethod,
  schema: z.ZodType<AuthResult<T>>,
  call: (auth: AuthEntrypoint) => Promise<unknown>,
): Promise<T> {
  const answer = await callIsolate(env, revision, method, schema, call);
  if (answer.ok) return answer.value;
  const { message, ...rest } = answer.refusal;
  throw AppError.answer(message, rest);
}

/** Parses the result: the agent's code may return anything. */
export async function callIsolate<T>(
  env: Env,
  revision: RevisionRef,
  method: AuthMethod,
  schema: z.ZodType<T>,
  call: (agent: AuthEntrypoint) => Promise<unknown>,
): Promise<T> {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  const answer = await withIsolateErrors(revision, () =>
    call(agentIsolate(env, revision) as unknown as AuthEntrypoint),
  );
  return parseAnswer(method, schema, answer);
}

/** Runs a call of the isolate. After a failed load the next call loads it again. An old revision without the call becomes `unavailable`. */
export async function withIsolateErrors<T>(
  revision: RevisionRef,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    abandonFailedLoad(revision);
    throw lacksEntrypoint(error) ? revisionTooOld(error) : error;
  }
}

function revisionTooOld(cause: unknown): AppError {
  const text = "This revision cannot serve its auth or http configuration: create a new revision.";
  return new AppError("unavailable", text, { cause });
}

/** Revisions built before these calls existed do not implement them. Ignoring that would leave the agent without authentication. */
function lacksEntrypoint(error: unknown): boolean {
  return error instanceof Error && /does not (implement|export a fetch)/.test(error.message);
}
