import { type Node, visitorKeys } from "oxc-parser";

/** Calls `visit` for each node of a tree, parents first. */
export function walk(
  node: Node,
  visit: (node: Node, parent: Node | null) => void,
  parent: Node | null = null,
): void {
  visit(node, parent);
  for (const key of visitorKeys[node.type] ?? []) {
    // The table of keys names the fields of a node that hold nodes.
    const child = node[key as keyof Node] as unknown as Node | (Node | null)[] | null | undefined;
    for (const each of [child ?? []].flat()) if (each) walk(each, visit, node);
  }
}
