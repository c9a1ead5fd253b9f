import type { z } from "zod";
import { parseAnswer } from "../../control-plane/deployments/isolate/agent-answers.ts";
import {
  agentIsolate,
  leavingFailedLoads,
} from "../../control-plane/deployments/isolate/isolate.ts";
import type { AuthEntrypoint, AuthResult } from "../../isolate/auth-contract.ts";
import type { Access } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

type RevisionRef = Access["revision"];

type AuthMethod = "authenticateRequest" | "authorize" | "matchesPattern";

/**
 * Calls the agent's own `auth`.
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

/**
 * Calls the isolate. After a failure of an isolate that could not load, the next call loads another one.
 * @throws AppError `unavailable` for an old revision that does not have the call
 */
export async function withIsolateErrors<T>(
  revision: RevisionRef,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await leavingFailedLoads(revision, call);
  } catch (error) {
    throw lacksEntrypoint(error) ? revisionTooOld(error) : error;
  }
}

function revisionTooOld(cause: unknown): AppError {
  const text = "This revision cannot serve its auth or http configuration: create a new revision.";
  return new AppError("unavailable", text, { cause });
}

/**
 * Whether the revision was built before the call existed, and does not implement it. Ignoring that would leave the
 * agent without authentication.
 */
function lacksEntrypoint(error: unknown): boolean {
  return error instanceof Error && /does not (implement|export a fetch)/.test(error.message);
}
