import type { ResultKind, StreamChoice } from "../contract/records.ts";
import type { ThreadStore } from "./storage/store.ts";

/**
 * Returns the JSON text of `wait` and `join`: the thread's values with pending interrupts merged in, or `__error__` for
 * a run that failed. It is `{}` (`wait`) or `null` (`join`) when the run was cancelled or does not exist, or the thread
 * has no values.
 */
export function resultText(store: ThreadStore, run_id: string, kind: ResultKind): string {
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

type Choice = Pick<StreamChoice, "modes" | "namespaces">;

/** Matches event names: `mode`, `mode/detail` or `mode|namespace`. */
export function eventFilter({ modes, namespaces }: Choice): (event: string) => boolean {
  return (event) => {
    const [name = "", ...ns] = event.split("|");
    if (ALWAYS.includes(name)) return true;
    return isOfModes(name, modes) && isOfNamespaces(name, ns, namespaces);
  };
}

function isOfModes(name: string, modes: string[] | null): boolean {
  if (modes === null) return true;
  // The mode `messages-tuple` emits `messages`, the mode `messages` emits `messages/partial` and others.
  return modes.includes(name === "messages" ? "messages-tuple" : (name.split("/")[0] ?? name));
}

function isOfNamespaces(name: string, ns: string[], namespaces: string[] | null): boolean {
  if (namespaces === null) return true;
  // The namespace of a message is its node's: the graph is one level up.
  const graph = name === "messages" ? ns.slice(0, -1) : ns;
  return namespaces.some((wanted) => isSameNamespace(wanted, graph));
}

/** A part without an id, such as `agent`, matches each task of that node, such as `agent:1f1e...`. */
function isSameNamespace(wanted: string, graph: string[]): boolean {
  const parts = wanted === "" ? [] : wanted.split("|");
  if (parts.length !== graph.length) return false;
  return parts.every((part, n) => part === graph[n] || part === graph[n]?.split(":")[0]);
}
