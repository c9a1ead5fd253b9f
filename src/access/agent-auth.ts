import { agentIsolate, giveUpUnloaded } from "../deployments/isolate.ts";
import type { AuthAnswered, AuthEntrypoint } from "../isolate/auth-contract.ts";
import type { Access } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";

type RevisionRef = Access["revision"];

/** Asks the agent's own authentication. What it refuses is thrown as it says it. */
export async function askAuth<T>(
  env: Env,
  revision: RevisionRef,
  ask: (auth: AuthEntrypoint) => Promise<AuthAnswered<T>>,
): Promise<T> {
  const answer = await askIsolate(env, revision, ask);
  if (answer.ok) return answer.value;
  const { message, ...rest } = answer.refusal;
  throw AppError.answer(message, rest);
}

export function askIsolate<T>(
  env: Env,
  revision: RevisionRef,
  ask: (agent: AuthEntrypoint) => Promise<T>,
): Promise<T> {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return reachIsolate(revision, () =>
    ask(agentIsolate(env, revision) as unknown as AuthEntrypoint),
  );
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
  const text = "This revision was built before its auth or http could be served; deploy it again.";
  return new AppError("unavailable", text, { cause });
}

/** An artifact without these calls would be open to all if they were passed over. */
function isOlder(error: unknown): boolean {
  return error instanceof Error && /does not (implement|export a fetch)/.test(error.message);
}
