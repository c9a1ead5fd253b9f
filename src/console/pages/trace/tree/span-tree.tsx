import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef } from "react";
import type { TraceTree } from "../../../traces/tree.ts";
import { formatCount } from "../../../ui/formats.ts";
import { Empty } from "../../../ui/panel.tsx";
import { withRow } from "../../../ui/rows/virtual-rows.ts";
import { goalOf } from "../model/goal.ts";
import type { Scale } from "../model/scale.ts";
import type { Zoom } from "../model/search.ts";
import { Axis } from "./axis.tsx";
import { Minimap } from "./minimap.tsx";
import { SpanRow } from "./span-row.tsx";

type Props = {
  tree: TraceTree;
  scale: Scale;
  rows: number[];
  selected: number | null;
  closed: ReadonlySet<string>;
  onSelect: (index: number) => void;
  onToggle: (index: number) => void;
  onLeave: () => void;
  onZoom: (zoom: Zoom) => void;
};

const ROW_PX = 24;
/** Number of rows that stay in view above the row that is chosen in the minimap. */
const ROWS_BEFORE = 4;
/** Height before it is measured. */
const FIRST_PX = 600;
const OVERSCAN = 12;

/** Draws the tree and the waterfall. Only rows in view are in the document. The minimap draws all. */
export function SpanTree(props: Props) {
  const { tree, scale, rows, selected } = props;
  const box = useRef<HTMLDivElement>(null);
  const position = selected === null ? -1 : rows.indexOf(selected);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    initialRect: { width: 0, height: FIRST_PX },
    rangeExtractor: (range) => withRow(range, position),
  });
  useEffect(() => {
    if (position >= 0) list.scrollToIndex(position);
  }, [position, list]);
  const first = (list.scrollOffset ?? 0) / ROW_PX;
  return (
    <>
      <Minimap
        tree={tree}
        scale={scale}
        rows={rows}
        range={{ first, last: first + (list.scrollRect?.height ?? FIRST_PX) / ROW_PX }}
        onScroll={(part) => list.scrollToOffset(part * list.getTotalSize() - ROW_PX * ROWS_BEFORE)}
      />
      <Axis
        tree={tree}
        scale={scale}
        label={formatCount(tree.spans.length, "span")}
        onZoom={props.onZoom}
      />
      {rows.length === 0 ? (
        <Empty title="No span matches">Search for something else.</Empty>
      ) : (
        <Rows {...props} box={box} list={list} position={position} />
      )}
    </>
  );
}

type RowsProps = Props & {
  box: RefObject<HTMLDivElement | null>;
  list: ReturnType<typeof useVirtualizer<HTMLDivElement, Element>>;
  position: number;
};

function Rows({ tree, scale, rows, selected, closed, box, list, position, ...on }: RowsProps) {
  const id = useId();
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") return on.onLeave();
    const next = goalOf({ tree, rows, closed, position }, event.key);
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (next.toggle !== undefined) on.onToggle(next.toggle);
    else if (next.select !== undefined) on.onSelect(next.select);
  };
  return (
    <div
      ref={box}
      className="span-rows"
      role="tree"
      aria-label="Spans of the trace"
      aria-activedescendant={selected === null ? undefined : `${id}-${selected}`}
      tabIndex={0}
      onKeyDown={onKey}
    >
      <div className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index: at, start }) => {
          const index = rows[at] ?? 0;
          return (
            <SpanRow
              key={tree.spans[index]?.id}
              id={`${id}-${index}`}
              tree={tree}
              scale={scale}
              index={index}
              top={start}
              isSelected={index === selected}
              isOpen={!closed.has(tree.spans[index]?.id ?? "")}
              onSelect={on.onSelect}
              onToggle={on.onToggle}
            />
          );
        })}
      </div>
    </div>
  );
}
