import type { TraceSpan } from "../../../traces/live/trace-schema.ts";
import type { TraceTree } from "../../traces/tree.ts";

/** A span of one run and its counterpart in the other; `null` where the other has none. */
export type SpanPair = { depth: number; a: TraceSpan | null; b: TraceSpan | null };

type SpanPosition = { tree: TraceTree; index: number };

/**
 * Pairs two spans, and the spans below them level by level. Spans of a level are pairs when kind and name are the same,
 * in their order.
 */
export function alignSpans(a: SpanPosition, b: SpanPosition): SpanPair[] {
  const pairs: SpanPair[] = [];
  const waiting: { a: number | null; b: number | null; depth: number }[] = [
    { a: a.index, b: b.index, depth: 0 },
  ];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    pairs.push({ depth: next.depth, a: spanAt(a.tree, next.a), b: spanAt(b.tree, next.b) });
    const below = alignLevel(levelOf(a.tree, next.a), levelOf(b.tree, next.b));
    for (const pair of below.reverse()) waiting.push({ ...pair, depth: next.depth + 1 });
  }
  return pairs;
}

type Level = { index: number; key: string }[];
type IndexPair = { a: number | null; b: number | null };

/** Pairs two levels, and keeps the order of both. Spans that only B has come before the next pair. */
function alignLevel(a: Level, b: Level): IndexPair[] {
  const pairs: IndexPair[] = [];
  const positions = Map.groupBy(b.keys(), (position) => b[position]?.key);
  let at = 0;
  for (const { index, key } of a) {
    const found = firstFrom(at, positions.get(key) ?? []);
    if (found === -1) {
      pairs.push({ a: index, b: null });
      continue;
    }
    for (const skipped of b.slice(at, found)) pairs.push({ a: null, b: skipped.index });
    pairs.push({ a: index, b: b[found]?.index ?? null });
    at = found + 1;
  }
  return [...pairs, ...b.slice(at).map(({ index }) => ({ a: null, b: index }))];
}

/** Removes the positions before `at`, which later calls cannot need. @returns the first one left, or -1 */
function firstFrom(at: number, positions: number[]): number {
  while (positions[0] !== undefined && positions[0] < at) positions.shift();
  return positions[0] ?? -1;
}

function levelOf({ spans, size }: TraceTree, above: number | null): Level {
  const level: Level = [];
  if (above === null) return level;
  const end = above + (size[above] ?? 1);
  for (let index = above + 1; index < end; index += size[index] ?? 1) {
    const { run_type = "", name = "" } = spans[index] ?? {};
    level.push({ index, key: `${run_type} ${name}` });
  }
  return level;
}

function spanAt({ spans }: TraceTree, index: number | null): TraceSpan | null {
  return index === null ? null : (spans[index] ?? null);
}
