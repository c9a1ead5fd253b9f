import { formatDuration } from "../../../ui/formats.ts";
import { type Scale, ticksOf } from "../model/scale.ts";
import type { TraceTree } from "../model/tree.ts";

type Props = { tree: TraceTree; scale: Scale; label: string };

export function Axis({ tree, scale, label }: Props) {
  return (
    <div className="tree-row axis">
      <div className="nmc xs dim">{label}</div>
      <div className="wf">
        {ticksOf(scale, tree.total_ms).map(({ ms, x }) => (
          <span key={ms} className="ax" style={{ left: `${x * 100}%` }}>
            {ms === 0 ? "0" : formatDuration(ms)}
          </span>
        ))}
        {scale.gaps.map(({ from, to, x0, x1 }) => (
          <span
            key={from}
            className="gapb"
            style={{ left: `${x0 * 100}%`, width: `${(x1 - x0) * 100}%` }}
            title={`${formatDuration(to - from)} in which nothing ran`}
          >
            {formatDuration(to - from)}
          </span>
        ))}
      </div>
    </div>
  );
}
