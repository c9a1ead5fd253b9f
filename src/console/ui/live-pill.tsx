import type { UseQueryResult } from "@tanstack/react-query";

export type LiveState = "live" | "paused" | "off";

type Props = {
  state: LiveState;
  /** Added to the word, such as "1 building" or "23 new". */
  note?: string | undefined;
  /** Source and age of the data. */
  title?: string | undefined;
};

const WORDS: Record<LiveState, string> = { live: "Live", paused: "Paused", off: "Not live" };

/** State of the data of a page, for the top bar. */
export function LivePill({ state, note, title }: Props) {
  return (
    <span className={`live-pill ${state === "live" ? "" : state}`} role="status" title={title}>
      <span className="dot" aria-hidden="true" />
      {note ? `${WORDS[state]}, ${note}` : WORDS[state]}
    </span>
  );
}

const MAX_FAILURES = 3;

/** The state of a read that is polled. Without a network nothing is sent, so nothing fails either. */
export function liveStateOf(query: UseQueryResult<unknown>): LiveState {
  if (query.fetchStatus === "paused") return "off";
  return query.failureCount >= MAX_FAILURES || query.isError ? "off" : "live";
}
