import type { NamespaceCondition } from "../../../isolate/store-contract.ts";

const ANY = "*";

/** Joins labels, which have no periods: the text is a prefix of all namespaces below. */
export function toText(namespace: readonly string[]): string {
  return namespace.map((label) => `${label}.`).join("");
}

export function toLabels(text: string): string[] {
  return text.slice(0, -1).split(".");
}

/** Returns the range `from <= text < to` of the namespaces that begin with these labels. */
export function rangeOf(prefix: readonly string[]): { from: string; to: string } {
  if (prefix.length === 0) return { from: "", to: "\u{10ffff}" };
  const from = toText(prefix);
  // A slash is the character after the period, so the range ends after all labels below.
  return { from, to: `${from.slice(0, -1)}/` };
}

/** Returns the text at which a list continues after a namespace. After a cut one, it skips the namespaces below it. */
export function startAfter(namespace: readonly string[], max_depth: number | null): string {
  // Labels have no NUL, so this is the first text after the namespace.
  return namespace.length === max_depth ? rangeOf(namespace).to : `${toText(namespace)}\u0001`;
}

/** Compares texts as SQLite does, by code points. */
export function isTextBefore(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return isSurrogate(a) === isSurrogate(b) ? a < b : isSurrogate(b);
  }
  return one.length < other.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Returns labels with which all namespaces that match the conditions begin. */
export function literalPrefix(conditions: readonly NamespaceCondition[]): string[] {
  const path = conditions.find(({ match }) => match === "prefix")?.path ?? [];
  const any = path.indexOf(ANY);
  return any === -1 ? path : path.slice(0, any);
}

export function fulfils(namespace: string[], conditions: readonly NamespaceCondition[]): boolean {
  return conditions.every(({ match, path }) => {
    if (path.length > namespace.length) return false;
    const start = match === "prefix" ? 0 : namespace.length - path.length;
    return path.every((label, index) => label === ANY || label === namespace[start + index]);
  });
}
