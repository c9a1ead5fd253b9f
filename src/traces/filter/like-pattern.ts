import type { LikePattern } from "./tree.ts";

/** Maximum size of a pattern with any wildcards, which bounds the time to match it. */
const MAX_LIKE_BYTES = 48;

/**
 * Splits a pattern of more than `MAX_LIKE_BYTES` at its % signs. Keeps a shorter one as it is.
 * @returns `null` for a long pattern with a _, or with more than one text between its first and its last %
 */
export function readLikePattern(text: string): LikePattern | null {
  const isShort = new TextEncoder().encode(text).length <= MAX_LIKE_BYTES;
  // A pattern that ends inside an escape matches nothing, however long it is.
  if (isShort || toSteps(text) === null) return { kind: "short", text };
  const pieces = splitPattern(text);
  if (pieces === null) return null;
  const [start = "", ...rest] = pieces;
  const end = rest.pop();
  if (end === undefined) return { kind: "exact", text: start };
  const middles = rest.filter((piece) => piece !== "");
  if (middles.length > 1) return null;
  return { kind: "around", start, middle: middles[0] ?? "", end };
}

const PIECE = /\\([\s\S])|([\s\S])/gu;

/** Returns a test. Its time grows at most with the product of the lengths of pattern and text. */
export function toLikeTest(pattern: LikePattern): (text: string) => boolean {
  switch (pattern.kind) {
    case "short": {
      const steps = toSteps(pattern.text.toLowerCase());
      return steps === null ? () => false : (text) => matches(text.toLowerCase(), steps);
    }
    case "exact":
      return (text) => text.toLowerCase() === pattern.text;
    case "around":
      return (text) => isAround(text.toLowerCase(), pattern);
  }
}

function isAround(
  text: string,
  { start, middle, end }: Extract<LikePattern, { kind: "around" }>,
): boolean {
  const last = text.length - end.length;
  if (last < start.length || !text.startsWith(start) || !text.endsWith(end)) return false;
  return text.slice(start.length, last).includes(middle);
}

const [ANY, ONE] = [Symbol("any text"), Symbol("any character")];
type Step = typeof ANY | typeof ONE | string;

const WILDCARDS: Record<string, Step> = { "%": ANY, _: ONE };

/** @returns `null` for a pattern that ends inside an escape: it matches nothing */
function toSteps(text: string): Step[] | null {
  const steps: Step[] = [];
  for (const [, escaped, plain = ""] of text.matchAll(PIECE)) {
    if (plain === "\\") return null;
    steps.push(escaped ?? WILDCARDS[plain] ?? plain);
  }
  return steps;
}

/** Backtracks to the last ANY only: an earlier one could not match more. */
function matches(text: string, steps: Step[]): boolean {
  let [at, next, retry, retryAt] = [0, 0, -1, 0];
  while (at < text.length) {
    const step = steps[next];
    const width = step === undefined ? 0 : widthOf(step, text, at);
    if (step === ANY) {
      next += 1;
      [retry, retryAt] = [next, at];
    } else if (width > 0) {
      next += 1;
      at += width;
    } else if (retry === -1) {
      return false;
    } else {
      retryAt += widthAt(text, retryAt);
      [next, at] = [retry, retryAt];
    }
  }
  return steps.slice(next).every((step) => step === ANY);
}

/** Returns how much of the text the step matches, 0 when it does not match. */
function widthOf(step: Step, text: string, at: number): number {
  if (step === ONE) return widthAt(text, at);
  return typeof step === "string" && text.startsWith(step, at) ? step.length : 0;
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** Splits at the % signs. Returns `null` when the pattern has a _. */
function splitPattern(text: string): string[] | null {
  const pieces: string[] = [];
  let piece = "";
  for (const [, escaped, plain] of text.toLowerCase().matchAll(PIECE)) {
    if (plain === "_") return null;
    if (plain === "%") {
      pieces.push(piece);
      piece = "";
    } else {
      piece += escaped ?? plain ?? "";
    }
  }
  return [...pieces, piece];
}
