import type { TraceTree } from "../../../traces/tree.ts";
import { rowAfter } from "../../../ui/rows/row-keys.ts";

/** Index of the span to select, or of the span to open or close. Both absent: the key has no effect. */
export type Goal = { select?: number | undefined; toggle?: number };

export type TreeState = {
  tree: TraceTree;
  /** Indexes of the shown spans. */
  rows: number[];
  /** Ids of the closed spans. */
  closed: ReadonlySet<string>;
  /** Position of the selected span in `rows`, -1 when it is not shown. */
  position: number;
};

/** @returns the effect of a key, `null` for keys that the tree does not use */
export function goalOf(state: TreeState, key: string): Goal | null {
  const { rows, position } = state;
  const next = rowAfter(key, position, rows.length);
  if (next !== null) return { select: rows[next] };
  const index = rows[position];
  if (key === "ArrowLeft" || key === "h") return index === undefined ? {} : outward(state, index);
  if (key !== "ArrowRight" && key !== "l") return null;
  return index === undefined ? {} : inward(state, index);
}

/** Closes the span, or goes to the nearest one above it that is shown. */
function outward(state: TreeState, index: number): Goal {
  const { tree, rows, closed } = state;
  if (firstBelow(state, index) !== undefined && !closed.has(tree.spans[index]?.id ?? ""))
    return { toggle: index };
  for (let above = tree.parent[index] ?? -1; above >= 0; above = tree.parent[above] ?? -1) {
    if (rows.includes(above)) return { select: above };
  }
  return {};
}

/** Opens the span, or goes to the first one below it that is shown. */
function inward(state: TreeState, index: number): Goal {
  if (state.closed.has(state.tree.spans[index]?.id ?? "")) return { toggle: index };
  return { select: firstBelow(state, index) };
}

function firstBelow({ tree, rows, position }: TreeState, index: number): number | undefined {
  const next = rows[position + 1];
  return next !== undefined && next < index + (tree.size[index] ?? 1) ? next : undefined;
}
