import { useMemo } from "react";
import type { NodeState } from "../../runs/stream/live-run.ts";
import { type DrawnGraph, layoutGraph } from "./graph-layout.ts";

type Props = {
  name: string;
  graph: Parameters<typeof layoutGraph>[0];
  nodes: Record<string, NodeState>;
};

const MAX_DRAWN = 200;

/** Draws a graph, and describes its nodes and their states for screen readers. */
export function GraphView({ name, graph, nodes }: Props) {
  const isHuge = graph.nodes.length > MAX_DRAWN;
  const drawn = useMemo<DrawnGraph | null>(
    () => (isHuge ? null : layoutGraph(graph)),
    [graph, isHuge],
  );
  if (drawn === null) {
    return (
      <p className="in-p dim">
        {graph.nodes.length} nodes: more than {MAX_DRAWN} are not drawn.
      </p>
    );
  }
  const states = Object.entries(nodes).map(([node, state]) => `${node} ${state}`);
  const label = `Graph ${name}: ${drawn.nodes.map((node) => node.label).join(", ")}. ${states.join(", ")}`;
  return (
    <svg
      className="graph"
      viewBox={`${drawn.left} 0 ${drawn.width} ${drawn.height}`}
      style={{ maxWidth: drawn.width }}
      role="img"
      aria-label={label}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0 .5 7 4 0 7.5" fill="none" stroke="var(--line-ctl)" />
        </marker>
      </defs>
      {drawn.edges.map(({ key, path, isConditional }) => (
        <path key={key} className={`ge ${isConditional ? "d" : ""}`} d={path} />
      ))}
      {drawn.nodes.map(({ id, label: text, x, y, width, height }) => (
        <g key={id} className={`gn ${nodes[id] ?? ""}`}>
          <title>{id}</title>
          <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx="6" />
          <text x={x} y={y + 4}>
            {text}
          </text>
        </g>
      ))}
    </svg>
  );
}
