import { toWire } from "../wire.ts";

/**
 * Tasks in the v2 protocol. A node mostly receives the state that was just emitted, so the event
 * refers to it.
 */
export class TaskEvents {
  /** Last emitted values of each graph. */
  readonly #values = new Map<string, string>();

  setEmitted(graph: string, values: string) {
    this.#values.set(graph, values);
  }

  textOf(graph: string, chunk: unknown): string {
    if (typeof chunk !== "object" || chunk === null || !("input" in chunk)) return toWire(chunk);
    const { input, ...task } = chunk;
    const text = toWire(input);
    const isKnown = this.#values.get(graph) === text;
    return `${toWire(task).slice(0, -1)},${isKnown ? '"input_is":"values"' : `"input":${text}`}}`;
  }
}
