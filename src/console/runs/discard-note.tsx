import { titleOf } from "./interrupts/interrupts.ts";
import { openQuestions, type ThreadView } from "./use-thread.ts";

/** Returns the text of the button that sends. A message starts a run, which discards the questions that wait. */
export function actOf(view: ThreadView): string {
  return openQuestions(view).length > 0 ? "Send and discard" : "Send";
}

/** Warns that a message discards the questions that wait. */
export function DiscardNote({ view }: { view: ThreadView }) {
  const open = openQuestions(view);
  if (open.length === 0) return null;
  return (
    <p className="wait sm" role="status">
      A message discards what waits for an answer: <bdi>{open.map(titleOf).join(", ")}</bdi>
    </p>
  );
}
