import { CHUNK, CUT_CHARS, type JsonRow, linesOf, type OpenNodes, ROOT } from "./rows.ts";
import { childId, childOf, isContainer, nameOf, sizeOf } from "./tree.ts";

export type JsonMatch = {
  id: string;
  /** Position in a string, `null` for a match in a name or in another value. */
  offset: number | null;
};

export const MAX_MATCHES = 10_000;

type Waiting = { id: string; name: string | null; value: unknown };

/** Finds the first `MAX_MATCHES` in names and values, also of closed nodes, in the order of the document. */
export function findMatches(value: unknown, text: string): JsonMatch[] {
  const wanted = text.toLowerCase();
  const matches: JsonMatch[] = [];
  const waiting: Waiting[] = [{ id: ROOT, name: null, value }];
  for (let node = waiting.pop(); node && wanted !== ""; node = waiting.pop()) {
    const { id, name, value: current } = node;
    if (name?.toLowerCase().includes(wanted)) matches.push({ id, offset: null });
    matches.push(...matchesIn(node, wanted));
    if (matches.length >= MAX_MATCHES) return matches.slice(0, MAX_MATCHES);
    for (let index = sizeOf(current) - 1; index >= 0; index -= 1) {
      const child = { name: nameOf(current, index), value: childOf(current, index) };
      waiting.push({ id: childId(id, index), ...child });
    }
  }
  return matches;
}

function matchesIn({ id, value }: Waiting, wanted: string): JsonMatch[] {
  if (isContainer(value)) return [];
  if (typeof value !== "string") {
    return String(value).toLowerCase().includes(wanted) ? [{ id, offset: null }] : [];
  }
  const found: JsonMatch[] = [];
  const text = value.toLowerCase();
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    found.push({ id, offset: at });
    if (found.length === MAX_MATCHES) break;
  }
  return found;
}

/** Opens the nodes around a match, and the string when the match is in its hidden part. */
export function openTo(value: unknown, opened: OpenNodes, match: JsonMatch): OpenNodes {
  const next = new Map(opened);
  let id = ROOT;
  let current = value;
  for (const part of match.id.split("/").slice(1)) {
    const index = Number(part);
    const shown = Math.ceil((index + 1) / CHUNK) * CHUNK;
    next.set(id, Math.max(shown, next.get(id) ?? 0));
    current = childOf(current, index);
    id = childId(id, index);
  }
  if (typeof current === "string" && match.offset !== null) {
    const isHidden = match.offset >= CUT_CHARS || next.has(id);
    if (isHidden) next.set(id, Math.max(lineAt(current, match.offset) + CHUNK, next.get(id) ?? 0));
  }
  return next;
}

function lineAt(text: string, offset: number): number {
  let count = 0;
  for (const { next } of linesOf(text)) {
    if (next > offset) return count;
    count += 1;
  }
  return count;
}

/** @returns -1 when the match is in no row */
export function rowOfMatch(rows: readonly JsonRow[], { id, offset }: JsonMatch): number {
  const inText = rows.findIndex(
    (row) => row.id === id && row.kind === "text" && offset !== null && row.to > offset,
  );
  return inText >= 0 ? inText : rows.findIndex((row) => row.id === id);
}
