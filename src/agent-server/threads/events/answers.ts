import type { RunRefusal, RunRequest } from "../records.ts";
import type { ThreadStore } from "../storage/store.ts";

type ThreadState = Pick<ThreadStore, "runs" | "thread">;

/** Returns the run that resumes the named interrupts, or the refusal when they are not pending. */
export function resolveAnswer(request: RunRequest, store: ThreadState): RunRequest | RunRefusal {
  const { answers } = request;
  if (!answers) return request;
  const waiting = pendingInterruptIds(store);
  if (answers === "input") return waiting.size > 0 ? resumedByInput(request) : request;
  if (waiting.size === 0) return "no_pending_interrupt";
  return answers.every((id) => waiting.has(id)) ? request : "unknown_interrupt";
}

/** A run from a named checkpoint forks the thread instead of resuming it. */
function resumedByInput(request: RunRequest): RunRequest {
  const { input, config } = request.kwargs;
  if (input === null || config.configurable?.checkpoint_id) return request;
  return { ...request, kwargs: { ...request.kwargs, input: null, command: { resume: input } } };
}

function pendingInterruptIds({ runs, thread }: ThreadState): Set<string> {
  if (runs.inFlight().length > 0) return new Set();
  const interrupts = Object.values(thread.interrupts()).flat() as { id?: unknown }[];
  return new Set(interrupts.flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
}
