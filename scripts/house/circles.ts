type Graph = ReadonlyMap<string, Iterable<string>>;

/** Returns the groups of two or more nodes that reach each other, each sorted. */
export function findCircles(graph: Graph): string[][] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(graph, node)]));
  const circles = new Map<string, string[]>();
  for (const [node, targets] of reached) {
    const circle = [...targets].filter((other) => reached.get(other)?.has(node));
    if (circle.some((other) => other !== node)) circles.set(circle.sort().join(), circle);
  }
  return [...circles.values()];
}

/** Returns the nodes at the end of a path of one or more arrows. */
function reachedFrom(graph: Graph, start: string): Set<string> {
  const reached = new Set<string>();
  const open = [...(graph.get(start) ?? [])];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (reached.has(node)) continue;
    reached.add(node);
    open.push(...(graph.get(node) ?? []));
  }
  return reached;
}
