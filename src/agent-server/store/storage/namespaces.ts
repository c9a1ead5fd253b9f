import type { NamespaceCondition } from "../../../isolate/store-contract.ts";

const ANY = "*";

/** Labels as one text: no label has a period, so that all below a namespace begin with its text. */
export function toText(namespace: readonly string[]): string {
  return namespace.map((label) => `${label}.`).join("");
}

export function toLabels(text: string): string[] {
  return text.slice(0, -1).split(".");
}

/** The texts from `from` on and before `to` are the namespaces that begin with these labels. */
export function rangeOf(prefix: readonly string[]): { from: string; to: string } {
  if (prefix.length === 0) return { from: "", to: "\u{10ffff}" };
  const from = toText(prefix);
  // What comes right after a period in the order of texts.
  return { from, to: `${from.slice(0, -1)}/` };
}

/** What all namespaces that fulfil the conditions begin with. */
export function knownPrefix(conditions: readonly NamespaceCondition[]): string[] {
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
