import { type PointerEvent, useEffect, useRef, useState } from "react";
import { kindOf } from "../../../traces/span-kind.ts";
import type { TraceTree } from "../../../traces/tree.ts";
import { type Scale, toX } from "../model/scale.ts";

type Props = {
  tree: TraceTree;
  scale: Scale;
  rows: number[];
  /** Rows in view. */
  range: { first: number; last: number };
  /** Called with a part of the height, 0 to 1. */
  onScroll: (part: number) => void;
};

const HEIGHT_PX = 36;
/** Names of the CSS variables with the colours of the kinds. */
const TOKENS = ["k-chain", "k-llm", "k-tool", "k-retriever", "k-prompt"];

/**
 * Draws all bars on one canvas, where the pointer scrolls the tree. Hidden from keyboards: the tree scrolls by keys.
 */
export function Minimap({ tree, scale, rows, range, onScroll }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const repaint = useRepaint();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of size or theme repaints
  useEffect(() => {
    if (canvas.current) paint(canvas.current, tree, scale, rows);
  }, [tree, scale, rows, repaint]);
  const scroll = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    const { top, height } = event.currentTarget.getBoundingClientRect();
    onScroll((event.clientY - top) / height);
  };
  const count = Math.max(rows.length, 1);
  return (
    <div className="minimap" onPointerDown={scroll} onPointerMove={scroll} aria-hidden="true">
      <canvas ref={canvas} height={HEIGHT_PX} />
      <span
        className="win"
        style={{
          top: `${(range.first / count) * 100}%`,
          height: `${Math.max(((Math.min(range.last, count) - range.first) / count) * 100, 8)}%`,
        }}
      />
    </div>
  );
}

/** @returns a number that changes with the size of the window and the theme */
function useRepaint(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const notice = () => setCount((former) => former + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(notice);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    dark.addEventListener("change", notice);
    addEventListener("resize", notice);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", notice);
      removeEventListener("resize", notice);
    };
  }, []);
  return count;
}

function paint(canvas: HTMLCanvasElement, tree: TraceTree, scale: Scale, rows: number[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = devicePixelRatio;
  const width = canvas.parentElement?.clientWidth ?? 0;
  canvas.width = width * ratio;
  canvas.height = HEIGHT_PX * ratio;
  const style = getComputedStyle(canvas);
  const colours = new Map(TOKENS.map((name) => [name, style.getPropertyValue(`--${name}`)]));
  const failed = style.getPropertyValue("--err-mark");
  const rowHeight = canvas.height / Math.max(rows.length, 1);
  const barHeight = Math.max(Math.min(rowHeight * 0.7, 2 * ratio), 1);
  rows.forEach((index, at) => {
    const span = tree.spans[index];
    if (span === undefined) return;
    const x = toX(scale, tree.start[index] ?? 0);
    const length = toX(scale, tree.end[index] ?? 0) - x;
    const isFailed = span.status === "ERROR";
    context.fillStyle = isFailed ? failed : (colours.get(kindOf(span.run_type).tone) ?? "");
    context.fillRect(
      x * canvas.width,
      at * rowHeight,
      Math.max(length * canvas.width, 1),
      barHeight,
    );
  });
}
