import type { ReactNode } from "react";

type Props = { label: string; children: ReactNode; detail?: ReactNode };

/** A number with its name and its measure, in an element of the class `tiles`. */
export function Tile({ label, children, detail }: Props) {
  return (
    <div className="tile">
      <span className="k">{label}</span>
      <span className="v">{children}</span>
      <span className="d">{detail ?? "\u00a0"}</span>
    </div>
  );
}
