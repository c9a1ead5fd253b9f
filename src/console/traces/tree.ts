import type { TraceSpan } from "../../traces/live/trace-schema.ts";

/** Spans in the order of the tree. The arrays have one value for each span: a large trace needs no object for each. */
export type TraceTree = {
  spans: TraceSpan[];
  /** Positions by id. */
  indexOf: Map<string, number>;
  depth: number[];
  /** Position of the parent, -1 for a root. */
  parent: number[];
  /** Number of spans below and including each. */
  size: number[];
  /** Milliseconds from the start of the trace to the start of each span. */
  start: number[];
  /** Milliseconds from the start of the trace to the end of each span. */
  end: number[];
  /** Whether the span or one below it failed. */
  failed: boolean[];
  start_ms: number;
  total_ms: number;
};

const NO_PARENT = -1;

/**
 * Orders spans below their parents. Spans whose parent has not arrived are roots, and so is the first of spans that are below
 * each other in a circle.
 * @param now the end, in milliseconds, of spans that still run
 */
export function buildTree(found: readonly TraceSpan[], now: number): TraceTree {
  const sorted = [...found].sort(byStart);
  const children = childrenOf(sorted);
  const spans: TraceSpan[] = [];
  const depth: number[] = [];
  const parent: number[] = [];
  const indexOf = new Map<string, number>();
  const place = (root: TraceSpan) => {
    const waiting = [{ span: root, level: 0, above: NO_PARENT }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { span, level, above } = next;
      if (indexOf.has(span.id)) continue;
      const at = spans.push(span) - 1;
      indexOf.set(span.id, at);
      depth.push(level);
      parent.push(above);
      const below = children.get(span.id) ?? [];
      for (const child of below.toReversed()) {
        waiting.push({ span: child, level: level + 1, above: at });
      }
    }
  };
  for (const root of children.get(null) ?? []) place(root);
  for (const span of sorted) place(span);
  return { spans, indexOf, depth, parent, ...sumUp(spans, parent), ...timesOf(spans, now) };
}

/** Returns the spans that a span is in, outermost first. */
export function ancestorsOf({ spans, parent, indexOf }: TraceTree, id: string): TraceSpan[] {
  const above: TraceSpan[] = [];
  for (let at = parent[indexOf.get(id) ?? -1] ?? -1; at >= 0; at = parent[at] ?? -1) {
    const span = spans[at];
    if (span) above.unshift(span);
  }
  return above;
}

function childrenOf(sorted: readonly TraceSpan[]): Map<string | null, TraceSpan[]> {
  const ids = new Set(sorted.map(({ id }) => id));
  const children = new Map<string | null, TraceSpan[]>();
  for (const span of sorted) {
    const above = span.parent_run_id;
    const key = above !== null && above !== span.id && ids.has(above) ? above : null;
    const list = children.get(key);
    if (list) list.push(span);
    else children.set(key, [span]);
  }
  return children;
}

function byStart(a: TraceSpan, b: TraceSpan): number {
  if (a.start_time !== b.start_time) return a.start_time < b.start_time ? -1 : 1;
  return (a.dotted_order ?? "~") < (b.dotted_order ?? "~") ? -1 : 1;
}

function sumUp(spans: TraceSpan[], parent: number[]): Pick<TraceTree, "size" | "failed"> {
  const size = spans.map(() => 1);
  const failed = spans.map(({ status }) => status === "ERROR");
  for (let index = spans.length - 1; index > 0; index -= 1) {
    const above = parent[index] ?? NO_PARENT;
    if (above === NO_PARENT) continue;
    size[above] = (size[above] ?? 0) + (size[index] ?? 0);
    failed[above] = Boolean(failed[above] || failed[index]);
  }
  return { size, failed };
}

function timesOf(
  spans: TraceSpan[],
  now: number,
): Pick<TraceTree, "start" | "end" | "start_ms" | "total_ms"> {
  const starts = spans.map(({ start_time }) => toMs(start_time));
  const ends = spans.map(({ end_time, status }, index) => {
    if (end_time !== null) return toMs(end_time);
    return status === "PENDING" ? Math.max(now, starts[index] ?? now) : (starts[index] ?? now);
  });
  const start_ms = starts.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const end_ms = ends.reduce((most, at) => Math.max(most, at), start_ms);
  return {
    start: starts.map((at) => at - start_ms),
    end: ends.map((at) => at - start_ms),
    start_ms,
    // Not zero, so that a trace without a duration has a time in which its spans are drawn.
    total_ms: spans.length === 0 ? 0 : Math.max(end_ms - start_ms, 0.001),
  };
}

const TO_THE_SECOND = 19;

/**
 * Returns the milliseconds of a UTC time since 1970. Keeps its microseconds as a fraction, which `Date.parse` drops.
 */
export function toMs(iso: string): number {
  const fraction = /\.(\d+)/.exec(iso)?.[1] ?? "0";
  return Date.parse(`${iso.slice(0, TO_THE_SECOND)}Z`) + Number(`0.${fraction}`) * 1000;
}
