import { Graph, layout } from "@dagrejs/dagre";

type Wire = {
  nodes: { id: string | number; [field: string]: unknown }[];
  edges: { source: string | number; target: string | number; [field: string]: unknown }[];
};

type DrawnNode = { id: string; label: string; x: number; y: number; width: number; height: number };
type DrawnEdge = { key: string; path: string; isConditional: boolean };
export type DrawnGraph = {
  left: number;
  width: number;
  height: number;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
};

// Lengths in pixels. `CHARACTER` is the mean width of a character of a label.
const HEIGHT = 26;
const CHARACTER = 6.6;
const PADDING = 22;
const MARGIN = 6;
/** Characters of a label. */
const MAX_LABEL = 28;

/** Lays out the nodes from top to bottom, and the lines between them. */
export function layoutGraph({ nodes, edges }: Wire): DrawnGraph {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 24, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) {
    const label = labelOf(String(id));
    graph.setNode(String(id), {
      label,
      width: label.length * CHARACTER + PADDING,
      height: HEIGHT,
    });
  }
  const known = edges.filter(
    ({ source, target }) => graph.hasNode(String(source)) && graph.hasNode(String(target)),
  );
  known.forEach(({ source, target, conditional }, index) => {
    graph.setEdge(String(source), String(target), { conditional }, String(index));
  });
  layout(graph);
  const { height = 0 } = graph.graph();
  return {
    ...widthOf(graph),
    height,
    nodes: graph.nodes().map((id) => ({ ...(graph.node(id) as Omit<DrawnNode, "id">), id })),
    edges: graph.edges().map((edge) => {
      const { points, conditional } = graph.edge(edge);
      return {
        key: `${edge.v} ${edge.w} ${edge.name}`,
        path: pathOf(points),
        isConditional: conditional === true,
      };
    }),
  };
}

/** Computes the width from nodes and lines: that of the layout has the nodes only, and lines reach further. */
function widthOf(graph: Graph): { left: number; width: number } {
  const lines = graph.edges().flatMap((edge) => graph.edge(edge).points as Point[]);
  const nodes = graph.nodes().flatMap((id) => {
    const { x, width } = graph.node(id) as DrawnNode;
    return [x - width / 2, x + width / 2];
  });
  const all = [...nodes, ...lines.map(({ x }) => x)];
  const left = Math.min(...all) - MARGIN;
  return { left, width: Math.max(...all) + MARGIN - left };
}

function labelOf(id: string): string {
  const name = id.replace(/^__(start|end)__$/, "$1");
  return name.length > MAX_LABEL ? `${name.slice(0, MAX_LABEL - 1)}…` : name;
}

/** Returns a smooth line through the middles between its points. */
function pathOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return "";
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const end = index === rest.length - 2 ? next : middle(point, next);
    return `Q${at(point)} ${at(end)}`;
  });
  return `M${at(first)}${curves.length > 0 ? curves.join("") : `L${at(last)}`}`;
}

type Point = { x: number; y: number };

function middle(one: Point, other: Point): Point {
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

function at({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
