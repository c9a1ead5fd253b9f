import {
  agentIsolate,
  leavingFailedLoads,
} from "../../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../../isolate/contract.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import type { RevisionRef } from "./records.ts";

const RETRY_AFTER_S = 2;

type IsolateRef = RevisionRef & { quarantine?: string };

export function agentOf(env: Env, revision: IsolateRef): AgentEntrypoint {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return agentIsolate(env, revision) as unknown as AgentEntrypoint;
}

/** Calls the agent. When the call fails because the isolate could not load, the next call uses a new isolate. */
export function callAgent<T>(
  env: Env,
  revision: IsolateRef,
  call: (agent: AgentEntrypoint) => Promise<T>,
): Promise<T> {
  return leavingFailedLoads(revision, () => call(agentOf(env, revision)));
}

/**
 * Turns an internal error of a read into a 503, because its usual cause is the loss of the isolate. A read changes
 * nothing, so the client may repeat it. Other errors are thrown as they are.
 */
export async function asRetryableRead<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (AppError.from(error).code !== "internal") throw error;
    log.warn("read_lost", { error: String(error) });
    throw lostRead(error);
  }
}

function lostRead(cause: unknown): AppError {
  const text = `The read failed, usually because the agent's isolate ended: retry in ${RETRY_AFTER_S} s.`;
  return new AppError("unavailable", text, { retry_after_seconds: RETRY_AFTER_S, cause });
}
