import { AppError, invalid } from "../../../shared/errors.ts";
import type { StateAnswer } from "./states.ts";

/** @throws AppError for a refusal */
export function textOf(
  answer: StateAnswer,
  thread_id: string,
  withoutGraph: string | null,
): string {
  if ("missing" in answer) {
    if (answer.missing === "thread") throw threadNotFound(thread_id);
    if (answer.missing === "idle") throw new AppError("conflict", "Thread is busy");
    if (withoutGraph !== null) return withoutGraph;
    throw new AppError(
      "bad_request",
      `Thread ${thread_id} has no graph ID; run a graph on it first`,
    );
  }
  if (answer.ok) return answer.value;
  throw invalid(["body"], `${answer.error.error}: ${answer.error.message}`, "graph_error");
}

/** Published clients match this text. */
export function threadNotFound(thread_id: string): AppError {
  return new AppError("not_found", `Thread with ID ${thread_id} not found`);
}
