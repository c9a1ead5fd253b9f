import type { WeaveCell, WeaveKind } from "./weave-cell.ts";

const CLASSES: Record<WeaveKind, string> = {
  ok: "o",
  failed: "e",
  waiting: "w",
  running: "r",
  queued: "q",
  cancelled: "c",
  none: "n",
};

type Props = { cells: WeaveCell[]; label: string; className?: string };

/** A strip of cells in order of time, the newest at the end. The label describes them in words. */
export function Weave({ cells, label, className = "" }: Props) {
  return (
    <span className={`weave ${className}`} role="img" aria-label={label} title={label}>
      {cells.map(({ key, kind, height }) => (
        <i
          key={key}
          className={CLASSES[kind]}
          style={height === undefined ? undefined : { height: `${Math.round(height * 100)}%` }}
        />
      ))}
    </span>
  );
}
