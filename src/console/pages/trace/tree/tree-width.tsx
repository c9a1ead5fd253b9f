import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";

const KEY = "heddle-tree-width";
/** Widths in pixels. */
const [LEAST, MOST, FIRST, STEP] = [160, 900, 264, 24];

/** The edge between the names and the waterfall. Pointer and keys move it, and this browser keeps its position. */
export function TreeWidth() {
  const [width, setWidth] = useState(() => Number(localStorage.getItem(KEY)) || FIRST);
  const edge = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tree = edge.current?.closest<HTMLElement>(".trace-tree");
    tree?.style.setProperty("--names-w", `${width}px`);
  }, [width]);
  const move = (wanted: number) => {
    const next = Math.round(Math.min(Math.max(wanted, LEAST), MOST));
    setWidth(next);
    localStorage.setItem(KEY, String(next));
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const row = event.currentTarget.parentElement;
    if (row) move(event.clientX - row.getBoundingClientRect().left);
  };
  const onKey = ({ key }: KeyboardEvent) => {
    if (key === "ArrowLeft") move(width - STEP);
    if (key === "ArrowRight") move(width + STEP);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an edge that moves is no thematic break
    <div
      ref={edge}
      className="tree-edge hide-m"
      role="separator"
      aria-label="Width of the names"
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={width}
      tabIndex={0}
      onPointerDown={drag}
      onPointerMove={drag}
      onKeyDown={onKey}
    />
  );
}
