import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { formatTick } from "../../../traces/time-range.ts";

/** Milliseconds since 1970. */
export type Chosen = { from: number; to: number };

type Options = {
  start: number;
  end: number;
  /** Length of a bucket in milliseconds, to which choices are aligned. */
  step: number;
  chosen: Chosen | null;
  onChoose: (chosen: Chosen | null) => void;
};

/** Chooses a part of a time axis, by pointer or by arrow keys. `Esc` chooses all of it. */
export function useBrush({ start, end, step, chosen, onChoose }: Options) {
  const [drag, setDrag] = useState<Chosen | null>(null);
  const timeAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const part = Math.min(Math.max((clientX - left) / width, 0), 1);
    return start + part * (end - start);
  };
  const aligned = ({ from, to }: Chosen): Chosen => {
    const first = Math.floor((Math.min(from, to) - start) / step);
    const last = Math.max(Math.ceil((Math.max(from, to) - start) / step), first + 1);
    return { from: start + first * step, to: Math.min(start + last * step, end) };
  };
  const handlers = {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      const at = timeAt(event);
      setDrag({ from: at, to: at });
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (drag) setDrag({ from: drag.from, to: timeAt(event) });
    },
    onPointerUp: () => {
      if (drag) onChoose(aligned(drag));
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
    onKeyDown: (event: KeyboardEvent) => {
      const next = moved(chosen ?? { from: start, to: end }, event, { start, end, step });
      if (event.key === "Escape") onChoose(null);
      if (next) onChoose(aligned(next));
      if (next) event.preventDefault();
    },
  };
  const range = drag ? aligned(drag) : chosen;
  return {
    handlers,
    shown: range && shownOf(range, start, end),
    label: labelOf(chosen, end - start),
  };
}

const DIRECTIONS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Returns the part after a key: the arrows move its start, and with Shift its end. */
function moved(
  { from, to }: Chosen,
  { key, shiftKey }: KeyboardEvent,
  { start, end, step }: { start: number; end: number; step: number },
): Chosen | null {
  const by = (DIRECTIONS[key] ?? 0) * step;
  if (by === 0) return null;
  if (shiftKey) return { from, to: Math.min(Math.max(to + by, from + step), end) };
  return { from: Math.max(Math.min(from + by, to - step), start), to };
}

function shownOf({ from, to }: Chosen, start: number, end: number) {
  const partOf = (at: number) => Math.min(Math.max((at - start) / (end - start), 0), 1);
  const left = partOf(from);
  return {
    left: `${left * 100}%`,
    width: `${(partOf(to) - left) * 100}%`,
    text: `${formatTick(from, end - start)} to ${formatTick(to, end - start)}`,
  };
}

function labelOf(chosen: Chosen | null, span: number): string {
  const help = "Arrow keys move the start, with Shift the end, Escape chooses all";
  if (chosen === null) return `Runs by time. ${help}`;
  return `Chosen ${formatTick(chosen.from, span)} to ${formatTick(chosen.to, span)}. ${help}`;
}
