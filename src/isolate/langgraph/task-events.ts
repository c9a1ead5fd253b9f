import { toWire } from "../wire.ts";

/**
 * Tasks as a run of the v2 protocol tells them. A node is mostly given the state that was told just before:
 * the event says so instead of saying all of it again.
 */
export class TaskEvents {
  /** What was told last, of each graph. */
  readonly #values = new Map<string, string>();

  told(graph: string, values: string) {
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
