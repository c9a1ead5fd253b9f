import type { RunRefusal, RunRequest } from "../records.ts";
import type { ThreadStore } from "../storage/store.ts";

type Stands = Pick<ThreadStore, "runs" | "thread">;

/** Where a command answers what the thread asks, the run that resumes it; where there is nothing to answer, why not. */
export function resolveAnswer(request: RunRequest, store: Stands): RunRequest | RunRefusal {
  const { answers } = request;
  if (!answers) return request;
  const waiting = waitingIn(store);
  if (answers === "input") return waiting.size > 0 ? resumedByInput(request) : request;
  if (waiting.size === 0) return "no_pending_interrupt";
  return answers.every((id) => waiting.has(id)) ? request : "unknown_interrupt";
}

/** A checkpoint that is named is gone back to: nobody answers what is asked now. */
function resumedByInput(request: RunRequest): RunRequest {
  const { input, config } = request.kwargs;
  if (input === null || config.configurable?.checkpoint_id) return request;
  return { ...request, kwargs: { ...request.kwargs, input: null, command: { resume: input } } };
}

function waitingIn({ runs, thread }: Stands): Set<string> {
  if (runs.inFlight().length > 0) return new Set();
  const asked = Object.values(thread.interrupts()).flat() as { id?: unknown }[];
  return new Set(asked.flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
}
