import type { ThreadStore } from "./storage/store.ts";

/**
 * The JSON text that `wait` and `join` answer with: the thread's values with pending interrupts
 * merged in, or `__error__`. A cancelled run has no result: null for join, `{}` for wait, whose
 * clients look for a key in it.
 */
export function resultText(store: ThreadStore, run_id: string, kind: "wait" | "join"): string {
  const nothing = kind === "wait" ? "{}" : "null";
  const run = store.exists ? store.runs.get(run_id) : null;
  if (!run || run.status === "interrupted") return nothing;
  if (run.error) {
    const { error, message } = run.error;
    return JSON.stringify({ __error__: { error, message } });
  }
  const values = store.thread.valuesText() ?? nothing;
  const waiting = Object.values(store.thread.interrupts()).flat();
  if (waiting.length === 0) return values;
  return JSON.stringify({ ...JSON.parse(values), __interrupt__: waiting });
}

const ALWAYS = ["metadata", "error"];

/** Which events a reader asked for; names are `mode`, `mode/detail` or `mode|namespace`. */
export function eventFilter(modes: string[] | null): (event: string) => boolean {
  if (!modes || modes.length === 0) return () => true;
  return (event) => {
    const name = event.split("|")[0] ?? event;
    if (ALWAYS.includes(name)) return true;
    return modes.includes(name === "messages" ? "messages-tuple" : (name.split("/")[0] ?? name));
  };
}
