import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState } from "react";
import { ROW_EVENTS } from "../../../ui/data-table.tsx";
import { OUTPUT_CLASS, TraceRowCells } from "./trace-cells.tsx";
import type { TraceListRow } from "./trace-row.ts";

type Props = {
  rows: TraceListRow[];
  pick: string | undefined;
  onPick: (id: string) => void;
};

const ROW_PX = 32;
const CARD_PX = 68;
const OVERSCAN = 12;

const HEADERS = [
  ["Name and input", ""],
  ["Output", OUTPUT_CLASS],
  ["Start", "w-24"],
  ["Latency", "num w-30"],
  ["1st token", "num w-19"],
  ["Tokens", "num w-25"],
  ["Cost", "num w-24"],
  ["Tags", "w-31"],
  ["Feedback", "w-21"],
  ["Compare", "w-21"],
] as const;

/** Draws rows of a fixed height. Only those in view are in the document. */
export function TraceTable({ rows, pick, onPick }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((table.current?.getBoundingClientRect().top ?? 0) + scrollY);
  }, []);
  const height = matchMedia("(max-width: 760px)").matches ? CARD_PX : ROW_PX;
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    overscan: OVERSCAN,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const items = list.getVirtualItems();
  const before = (items[0]?.start ?? top) - top;
  const after = list.getTotalSize() - ((items.at(-1)?.end ?? top) - top);
  const largest = {
    latency: Math.max(0, ...rows.map(({ latency }) => latency ?? 0)),
    tokens: Math.max(0, ...rows.map(({ total_tokens }) => total_tokens ?? 0)),
    cost: Math.max(0, ...rows.map(({ total_cost }) => Number(total_cost ?? 0))),
  };
  return (
    <table
      ref={table}
      className="tbl cards dense traces"
      aria-label="Traces"
      aria-rowcount={rows.length + 1}
    >
      <thead>
        <tr>
          {HEADERS.map(([label, style]) => (
            <th key={label} scope="col" className={style}>
              {label === "Compare" ? <span className="sr">{label}</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...ROW_EVENTS}>
        <Spacer height={before} />
        {items.map(({ index, key }) => {
          const row = rows[index];
          return (
            row && (
              <tr
                key={key}
                aria-rowindex={index + 2}
                className={row.status === "error" ? "is-err" : ""}
                aria-selected={row.id === pick || undefined}
              >
                <TraceRowCells row={row} largest={largest} pick={pick} onPick={onPick} />
              </tr>
            )
          );
        })}
        <Spacer height={after} />
      </tbody>
    </table>
  );
}

/** A row without content. It has one cell: a `colSpan` that counts hidden columns would add an empty column. */
function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: an empty row, which takes no focus
    <tr aria-hidden="true" className="spacer">
      <td style={{ height }} />
    </tr>
  );
}
