import type { Answer } from "../../../isolate/contract.ts";
import { AppError, invalid } from "../../../shared/errors.ts";

/** Reason why the graph was not called. */
export type StateRefusal = "thread_missing" | "graph_missing" | "checkpoint_missing" | "busy";

/** Thread whose state is read or updated, at a checkpoint or at its head. */
type StateRef = { thread_id: string; checkpoint_id: string | null };

/** JSON text from the graph. */
export type StateAnswer = Answer<string> | { ok: false; error: StateRefusal };

/**
 * @returns `withoutGraph` when the thread has no graph yet
 * @throws AppError for any other refusal, 413 for a state over the limit, and 502 when the graph cannot read the state:
 *   the request is valid
 */
export function readText(answer: StateAnswer, at: StateRef, withoutGraph: string): string {
  if (answer.ok) return answer.value;
  if (answer.error === "graph_missing") return withoutGraph;
  if (typeof answer.error === "string") throw refusal(answer.error, at);
  const { error, message } = answer.error;
  if (error === "AnswerLimitError") throw new AppError("too_large", message);
  const text = `The graph cannot read the state of the thread: ${error}: ${message}`;
  throw AppError.answer(text, { status: 502, headers: [] });
}

/** @throws AppError for a refusal, and 422 when the graph rejects the update */
export function updateText(answer: StateAnswer, at: StateRef): string {
  if (answer.ok) return answer.value;
  if (typeof answer.error === "string") throw refusal(answer.error, at);
  throw invalid(["body"], `${answer.error.error}: ${answer.error.message}`);
}

function refusal(reason: StateRefusal, { thread_id, checkpoint_id }: StateRef): AppError {
  if (reason === "thread_missing") return threadNotFound(thread_id);
  if (reason === "checkpoint_missing") return checkpointNotFound(checkpoint_id, thread_id);
  if (reason === "busy") return new AppError("conflict", "Thread is busy");
  const text = `Thread ${thread_id} has no graph ID; run a graph on it first`;
  return new AppError("bad_request", text);
}

/** Published clients match this text. */
export function threadNotFound(thread_id: string): AppError {
  return new AppError("not_found", `Thread with ID ${thread_id} not found`);
}

export function checkpointNotFound(checkpoint_id: unknown, thread_id: string): AppError {
  const text = `Checkpoint ${checkpoint_id} not found in thread ${thread_id}`;
  return new AppError("not_found", text);
}
