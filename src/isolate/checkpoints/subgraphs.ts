type Subgraph = [name: string, graph: unknown];
/** A graph of LangGraph. A remote one has no nodes. */
export type GraphNodes = {
  nodes?: object;
  /** Absent before 0.2.9. */
  getSubgraphs?: (namespace?: string, recurse?: boolean) => Iterable<Subgraph>;
};

/** Yields the graphs within a graph with their paths, such as `outer|inner`. LangGraph's own walk fails at remote ones. */
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
