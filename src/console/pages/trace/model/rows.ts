import type { TraceTree } from "../../../traces/tree.ts";

export type TraceMode = "all" | "errors" | "slow";

export type RowFilter = {
  mode: TraceMode;
  /** Text to find, in lower case. */
  search: string;
  /** Ids of the closed spans. */
  closed: ReadonlySet<string>;
};

/** Returns the indexes of the shown spans. Skips the spans below a closed one, unless a text is searched. */
export function listRows(tree: TraceTree, { mode, search, closed }: RowFilter): number[] {
  const wanted = wantedBy(tree, mode, search);
  const rows: number[] = [];
  for (let index = 0; index < tree.spans.length; ) {
    if (wanted === null || wanted.has(index)) rows.push(index);
    const span = tree.spans[index];
    const isClosed = span !== undefined && search === "" && closed.has(span.id);
    index += isClosed ? (tree.size[index] ?? 1) : 1;
  }
  return rows;
}

/** @returns the indexes of the spans that a mode or a search shows, `null` for all */
function wantedBy(tree: TraceTree, mode: TraceMode, search: string): Set<number> | null {
  if (search !== "") return withAbove(tree, findSpans(tree, search));
  if (mode === "errors") return new Set(positionsOf(tree.failed));
  return mode === "slow" ? slowestPath(tree) : null;
}

function positionsOf(flags: boolean[]): number[] {
  return flags.flatMap((flag, index) => (flag ? [index] : []));
}

/** Returns the spans whose name, type, error, tags or id contain the text. */
function findSpans({ spans }: TraceTree, search: string): number[] {
  return spans.flatMap(({ name, run_type, error, tags, id }, index) => {
    const text = `${name}\n${run_type}\n${error ?? ""}\n${tags.join("\n")}\n${id}`;
    return text.toLowerCase().includes(search) ? [index] : [];
  });
}

function withAbove({ parent }: TraceTree, found: number[]): Set<number> {
  const wanted = new Set<number>();
  for (const start of found) {
    for (let index = start; index >= 0 && !wanted.has(index); index = parent[index] ?? -1) {
      wanted.add(index);
    }
  }
  return wanted;
}

/** Returns the path from the longest root down, always to the child that took longest. */
export function slowestPath(tree: TraceTree): Set<number> {
  const path = new Set<number>();
  let index = longest(tree, rootsOf(tree));
  while (index !== undefined) {
    path.add(index);
    index = longest(tree, childrenOf(tree, index));
  }
  return path;
}

function rootsOf({ parent }: TraceTree): number[] {
  return parent.flatMap((above, index) => (above < 0 ? [index] : []));
}

function childrenOf({ size }: TraceTree, index: number): number[] {
  const children: number[] = [];
  const end = index + (size[index] ?? 1);
  for (let child = index + 1; child < end; child += size[child] ?? 1) children.push(child);
  return children;
}

function longest({ start, end }: TraceTree, among: number[]): number | undefined {
  const lengthOf = (index: number) => (end[index] ?? 0) - (start[index] ?? 0);
  let best: number | undefined;
  for (const index of among) {
    if (best === undefined || lengthOf(index) > lengthOf(best)) best = index;
  }
  return best;
}

/** Returns the index of the first failed span below which no span failed, `null` when no span failed. */
export function deepestFailure({ failed, size }: TraceTree): number | null {
  let index = failed.indexOf(true);
  if (index < 0) return null;
  for (;;) {
    const next = failed.indexOf(true, index + 1);
    if (next < 0 || next >= index + (size[index] ?? 1)) return index;
    index = next;
  }
}
