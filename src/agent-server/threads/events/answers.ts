import type { NewRun, RunRefusal } from "../records.ts";
import type { ThreadStore } from "../storage/store.ts";

type Stands = Pick<ThreadStore, "runs" | "thread">;

/** Where a command answers what the thread asks, the run that resumes it; where there is nothing to answer, why not. */
export function resolveAnswer(order: NewRun, store: Stands): NewRun | RunRefusal {
  const { answers } = order;
  if (!answers) return order;
  const waiting = waitingIn(store);
  if (answers === "input") return waiting.size > 0 ? resumedByInput(order) : order;
  if (waiting.size === 0) return "no_pending_interrupt";
  return answers.every((id) => waiting.has(id)) ? order : "unknown_interrupt";
}

/** A checkpoint that is named is gone back to: nobody answers what is asked now. */
function resumedByInput(order: NewRun): NewRun {
  const { input, config } = order.kwargs;
  if (input === null || config.configurable?.checkpoint_id) return order;
  return { ...order, kwargs: { ...order.kwargs, input: null, command: { resume: input } } };
}

function waitingIn({ runs, thread }: Stands): Set<string> {
  if (runs.inFlight().length > 0) return new Set();
  const asked = Object.values(thread.interrupts()).flat() as { id?: unknown }[];
  return new Set(asked.flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
}
