import { AppError } from "../shared/errors.ts";
import { isRecord } from "../shared/guards.ts";
import { MAX_CONTAINERS } from "./limits.ts";

export type JsonObject = Record<string, unknown>;

const [QUOTE, BACKSLASH, BRACKET, BRACE] = [0x22, 0x5c, 0x5b, 0x7b];

/** Budget of the objects and lists that all texts of a request may have together. */
export class ContainerBudget {
  #left = MAX_CONTAINERS;

  /** Counts a text before it is parsed. A refused text does not change the budget. @throws AppError 413 */
  spend(text: string): void {
    const count = countContainers(text);
    if (count > this.#left) throw tooMany();
    this.#left -= count;
  }
}

/** Counts `{` and `[` outside of strings. */
function countContainers(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === BRACKET || code === BRACE) count += 1;
  }
  return count;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let from = end;
    while (text.charCodeAt(from - 1) === BACKSLASH) from -= 1;
    if ((end - from) % 2 === 0) return end;
  }
  return text.length;
}

function tooMany(): AppError {
  const message = `The request has more than ${MAX_CONTAINERS} objects and lists: send fewer runs in a request.`;
  return new AppError("too_large", message);
}

/** Parses text that is known to be JSON. @returns `null` for no text, and for JSON of another type */
export function parseObject(text: string | null): JsonObject | null {
  const value: unknown = text === null ? null : JSON.parse(text);
  return isRecord(value) ? value : null;
}
