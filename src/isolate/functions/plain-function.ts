import type { HostStore } from "../agent/store.ts";
import type { GraphCall } from "../contract.ts";
import { failureText, toFailure } from "../failure.ts";
import { track } from "../globals/pending-work.ts";
import type { FunctionMessage } from "./function-state.ts";

/** Second argument of a plain agent. */
export type FunctionTools = {
  config: GraphCall["config"] & { context: unknown };
  /** Aborts when the run is cancelled, reaches its time limit, or cannot store its output. */
  signal: AbortSignal;
  /** Sends a `custom` event, when the run streams this mode. */
  emit: (data: unknown) => void;
  /** Messages of the thread, the new input included. */
  messages: FunctionMessage[];
  /** Store that the deployment's agents and clients share across threads. */
  store: HostStore;
};

export type PlainFunction = (input: unknown, tools: FunctionTools) => unknown;

export function isPlainFunction(value: unknown): value is PlainFunction {
  return typeof value === "function";
}

export function isGenerator(value: unknown): value is PlainFunction {
  return (
    isPlainFunction(value) &&
    ["AsyncGeneratorFunction", "GeneratorFunction"].includes(value.constructor.name)
  );
}

/** Yields all values of a generator and its return value, or the return value of a function. */
export async function* updatesOf(produced: unknown): AsyncGenerator<unknown> {
  if (!isIterator(produced)) {
    yield await produced;
    return;
  }
  let isOpen = false;
  try {
    do {
      isOpen = false;
      const { done, value } = await produced.next();
      isOpen = !done;
      yield value;
    } while (isOpen);
  } finally {
    if (isOpen) close(produced);
  }
}

/**
 * Makes the generator clean up, in the grace period after the run. The run itself does not wait: clean-up may never
 * end.
 */
function close(produced: AsyncIterator<unknown> | Iterator<unknown>) {
  const closed = (async () => produced.return?.())();
  void track(closed.catch(logFailure));
}

/** Logs a failed clean-up: the run has its outcome already. */
function logFailure(error: unknown) {
  // biome-ignore lint/suspicious/noConsole: the log of the agent
  console.error(`The generator failed to clean up: ${failureText(toFailure(error))}`);
}

function isIterator(value: unknown): value is AsyncIterator<unknown> | Iterator<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "next" in value &&
    typeof value.next === "function"
  );
}

export function describeBadUpdate(graph_id: string, update: unknown): string {
  return (
    `Graph "${graph_id}" produced ${Array.isArray(update) ? "an array" : typeof update}; ` +
    "yield or return objects: they are merged into the state."
  );
}
