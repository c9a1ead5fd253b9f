type Subgraph = [name: string, graph: unknown];
/** A graph of LangGraph. A remote one has no nodes. */
export type GraphNodes = {
  nodes?: object;
  /** Absent before 0.2.9. */
  getSubgraphs?: (namespace?: string, recurse?: boolean) => Iterable<Subgraph>;
};

/** Returns the names of the nodes in a namespace, without the ids of tasks and the numbers of calls. */
export function pathOf(ns: string): string[] {
  const parts = ns.split("|").filter((part) => part !== "" && !isNumber(part));
  return parts.map((part) => part.split(":")[0] ?? "");
}

function isNumber(part: string): boolean {
  return /^\d+$/.test(part);
}

/**
 * Returns the graph of a namespace.
 * @returns `null` when a node of the path is missing, or is code, which may call any graph
 */
export function graphAt<T extends GraphNodes>(graph: T, ns: string): T | null {
  let found = graph;
  for (const part of ns === "" ? [] : ns.split("|")) {
    const node: unknown = Reflect.get(Object(found.nodes), part.split(":")[0] ?? "");
    // A node may have the name of a number.
    if (node === undefined && isNumber(part)) continue;
    const { bound } = Object(node);
    if (typeof bound?.nodes !== "object") return null;
    found = bound;
  }
  return found;
}

/**
 * Yields the graphs within a graph with their paths, such as `outer|inner`. LangGraph's own walk fails at remote ones.
 */
export function* subgraphsOf<T extends GraphNodes>(
  graph: T,
  recurse = true,
): Generator<[path: string, graph: T]> {
  for (const [name, found] of graph.getSubgraphs?.() ?? []) {
    const subgraph = found as T;
    if (subgraph.nodes === undefined) continue;
    yield [name, subgraph];
    if (!recurse) continue;
    for (const [path, inner] of subgraphsOf(subgraph)) yield [`${name}|${path}`, inner];
  }
}
