import type { RunRefusal, RunRequest } from "../../contract/records.ts";
import { resumedInterrupts } from "../../contract/resumed-interrupts.ts";
import type { ThreadStore } from "../storage/store.ts";

type ThreadState = Pick<ThreadStore, "runs" | "thread">;

/**
 * Returns the request to accept. With `answers: "input"`, its input becomes the answer to a pending interrupt.
 * @returns the refusal when `answers` names interrupts that are not pending
 */
export function resolveAnswer(request: RunRequest, store: ThreadState): RunRequest | RunRefusal {
  const { answers, multitask_strategy } = request;
  const cancels = multitask_strategy === "interrupt" || multitask_strategy === "rollback";
  if (!answers) return request;
  // The runs in flight may change which interrupts are open when this run starts.
  // A run that cancels them, or that may answer with its input, is accepted as requested.
  if ((cancels || answers === "input") && !store.runs.queue.isEmpty) return request;
  return resolvedBy(openInterrupts(store), answers, request);
}

function resolvedBy(
  open: Set<string | null>,
  answers: string[] | "input",
  request: RunRequest,
): RunRequest | RunRefusal {
  if (answers === "input") return open.size > 0 ? resumedByInput(request) : request;
  if (open.size === 0) return "no_pending_interrupt";
  // Earlier versions of LangGraph give no ids.
  const areOpen = open.has(null) || answers.every((id) => open.has(id));
  return areOpen ? request : "unknown_interrupt";
}

/**
 * Resumes the pending interrupt with the run's input, if it has one. A run from a named checkpoint forks the thread.
 */
function resumedByInput(request: RunRequest): RunRequest {
  const { input, config } = request.kwargs;
  if (input === null || config.configurable?.checkpoint_id) return request;
  return { ...request, kwargs: { ...request.kwargs, input: null, command: { resume: input } } };
}

/** Returns the ids of the interrupts that no run in flight answers. An interrupt without an id is `null`. */
function openInterrupts({ runs, thread }: ThreadState): Set<string | null> {
  const interrupts = Object.values(thread.interrupts()).flat() as { id?: unknown }[];
  const open = new Set(interrupts.map(({ id }) => (typeof id === "string" ? id : null)));
  for (const run_id of runs.queue.inFlight()) {
    // A delayed run does not count: an answer without a delay starts before it.
    if ((runs.queue.row(run_id)?.due_at ?? 0) > Date.now()) continue;
    const answered = resumedInterrupts(runs.get(run_id)?.kwargs.command);
    // A run that does not answer by ids takes the thread past all interrupts.
    if (answered === null) return new Set();
    for (const id of answered) open.delete(id);
  }
  return open;
}
