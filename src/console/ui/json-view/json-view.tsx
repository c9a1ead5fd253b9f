import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
} from "react";
import { CopyButton } from "../copy-button.tsx";
import { withRow } from "../rows/virtual-rows.ts";
import { JsonLine } from "./json-line.tsx";
import { JsonSearch, useJsonSearch } from "./json-search.tsx";
import type { JsonRow } from "./rows.ts";
import { type JsonRows, useJsonRows } from "./use-json-rows.ts";

type Props = {
  label: string;
  /** A parsed JSON value, or a text. */
  value: unknown;
  /** Height in pixels above which the view scrolls. */
  maxHeight?: number;
  /** Controls before those of the view. */
  children?: ReactNode;
};

const ROW_PX = 20;
const PADDING_PX = 16;
const OVERSCAN = 12;
/** A value with at most this number of rows needs no search. */
const SEARCH_ROWS = 12;

/** Shows a value of any size: only rows in view are in the document, and closed nodes have no rows. */
export function JsonView({ label, value, maxHeight = 420, children }: Props) {
  const tree = useJsonRows(value);
  const search = useJsonSearch(value, tree);
  const { rows } = tree;
  const isSmall = rows.length <= SEARCH_ROWS && rows.every(({ kind }) => kind !== "closed");
  return (
    <div className="json-view">
      <div className="row sm min-h-7">
        <h3 className="cut">{label}</h3>
        {children}
        <span className="push row gap-1">
          {!isSmall && <JsonSearch label={label} search={search} />}
          <CopyButton text={() => textOf(value)} label={`Copy ${label.toLowerCase()}`} />
        </span>
      </div>
      <Rows label={label} tree={tree} search={search} maxHeight={maxHeight} />
    </div>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

type RowsProps = {
  label: string;
  tree: JsonRows;
  search: ReturnType<typeof useJsonSearch>;
  maxHeight: number;
};

function Rows({ label, tree, search, maxHeight }: RowsProps) {
  const { rows, active, setActive } = tree;
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const list = useRows({ box, count: rows.length, height: maxHeight, active });
  useEffect(() => {
    if (search.row >= 0) list.scrollToIndex(search.row, { align: "center" });
  }, [search.row, list]);
  const move = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = tree.moveBy(event.key);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    setActive(next);
    list.scrollToIndex(next);
  };
  const height = Math.min(maxHeight, rows.length * ROW_PX + PADDING_PX);
  return (
    <div
      ref={box}
      className="json code"
      style={{ height, overflow: "auto" }}
      role="tree"
      aria-label={label}
      aria-activedescendant={`${id}-${active}`}
      tabIndex={0}
      onKeyDown={move}
    >
      <div className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start }) => (
          <Line
            key={index}
            id={`${id}-${index}`}
            row={rows[index]}
            start={start}
            isActive={index === active}
            isMatch={index === search.row}
            text={search.text}
            tree={tree}
            onClick={() => setActive(index)}
          />
        ))}
      </div>
    </div>
  );
}

type RowsOptions = {
  box: RefObject<HTMLDivElement | null>;
  count: number;
  height: number;
  active: number;
};

function useRows({ box, count, height, active }: RowsOptions) {
  return useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    paddingStart: PADDING_PX / 2,
    paddingEnd: PADDING_PX / 2,
    initialRect: { width: 0, height },
    rangeExtractor: (range) => withRow(range, active),
  });
}

type LineProps = {
  id: string;
  row: JsonRow | undefined;
  start: number;
  isActive: boolean;
  isMatch: boolean;
  text: string;
  tree: JsonRows;
  onClick: () => void;
};

function Line({ id, row, start, isActive, isMatch, text, tree, onClick }: LineProps) {
  if (row === undefined) return null;
  const isOpen = { open: true, closed: false }[row.kind as string];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    <div
      id={id}
      className={`j ${isActive ? "is-active" : ""} ${isMatch ? "chg" : ""}`}
      style={{ transform: `translateY(${start}px)` }}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.depth + 1}
      aria-expanded={isOpen}
      aria-selected={isActive}
      onClick={onClick}
    >
      <JsonLine row={row} search={text} onToggle={() => tree.toggle(row)} />
    </div>
  );
}
