import { titleOf } from "./interrupts/interrupts.ts";
import { openQuestions, type ThreadView } from "./use-thread.ts";

/** Act of a composer while questions wait: a message takes the thread past them. */
export function actOf(view: ThreadView): string {
  return openQuestions(view).length > 0 ? "Send and discard" : "Send";
}

export function DiscardNote({ view }: { view: ThreadView }) {
  const open = openQuestions(view);
  if (open.length === 0) return null;
  return (
    <p className="wait sm" role="status">
      A message discards what waits for an answer: <bdi>{open.map(titleOf).join(", ")}</bdi>
    </p>
  );
}
