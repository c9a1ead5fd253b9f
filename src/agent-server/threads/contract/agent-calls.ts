import {
  abandonFailedLoad,
  agentIsolate,
} from "../../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../../isolate/contract.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import type { RevisionRef } from "./records.ts";

const RETRY_AFTER_S = 2;

export type AgentStub = AgentEntrypoint;
type IsolateRef = RevisionRef & { quarantine?: string };

export function agentOf(env: Env, revision: IsolateRef): AgentStub {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return agentIsolate(env, revision) as unknown as AgentStub;
}

/** Calls the agent. After a failure an isolate that never loaded is not used again. */
export async function callAgent<T>(
  env: Env,
  revision: IsolateRef,
  call: (agent: AgentStub) => Promise<T>,
): Promise<T> {
  try {
    return await call(agentOf(env, revision));
  } catch (error) {
    abandonFailedLoad(revision);
    throw error;
  }
}

/**
 * Calls an agent for what changes nothing. Its isolate may end because of other calls, most often for want of memory.
 * @throws AppError 503 when it ended: the read can be sent again
 */
export async function readAgent<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (AppError.from(error).code !== "internal") throw error;
    log.warn("read_lost", { error: String(error) });
    throw lostRead(error);
  }
}

function lostRead(cause: unknown): AppError {
  const text = `The agent's isolate ended during the read: retry in ${RETRY_AFTER_S} s.`;
  return new AppError("unavailable", text, { retry_after_seconds: RETRY_AFTER_S, cause });
}
