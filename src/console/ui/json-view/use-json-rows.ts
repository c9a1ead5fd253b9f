import { useEffect, useMemo, useState } from "react";
import { rowAfter } from "../rows/row-keys.ts";
import { CHUNK, type JsonRow, listRows, type OpenNodes, openAtFirst } from "./rows.ts";

export type JsonRows = {
  rows: JsonRow[];
  opened: OpenNodes;
  setOpened: (opened: OpenNodes) => void;
  active: number;
  setActive: (row: number) => void;
  /** Opens or closes a row, or shows more of it. */
  toggle: (row: JsonRow) => void;
  /** Handles a key: opens, closes or moves. @returns the next active row, `null` for other keys */
  moveBy: (key: string) => number | null;
};

export function useJsonRows(value: unknown): JsonRows {
  const [opened, setOpened] = useState(() => openAtFirst(value));
  const [active, setActive] = useState(0);
  const [former, setFormer] = useState(value);
  if (former !== value) {
    setFormer(value);
    setOpened(openAtFirst(value));
  }
  const rows = useMemo(() => listRows(value, opened), [value, opened]);
  useEffect(() => setActive((row) => Math.min(row, Math.max(rows.length - 1, 0))), [rows]);
  const toggle = (row: JsonRow) => setOpened(toggled(opened, row));
  const moveBy = (key: string) => {
    const row = rows[active];
    if (row && (key === "Enter" || opensBy(key, row))) {
      toggle(row);
      return active;
    }
    return goal(rows, active, key);
  };
  return { rows, opened, setOpened, active, setActive, toggle, moveBy };
}

function toggled(opened: OpenNodes, { id, kind, value }: JsonRow): OpenNodes {
  const next = new Map(opened);
  const isCut = kind === "leaf" && typeof value === "string";
  if (kind === "more") next.set(id, (opened.get(id) ?? 0) + CHUNK);
  else if (kind === "closed" || isCut) next.set(id, CHUNK);
  else if (kind === "open") next.delete(id);
  return next;
}

function opensBy(key: string, { kind }: JsonRow): boolean {
  if (key === "ArrowRight" || key === "l") return kind === "closed" || kind === "more";
  return (key === "ArrowLeft" || key === "h") && kind === "open";
}

function goal(rows: JsonRow[], active: number, key: string): number | null {
  if (key === "ArrowLeft" || key === "h") return parentOf(rows, active);
  return rowAfter(key, active, rows.length);
}

function parentOf(rows: JsonRow[], active: number): number {
  const depth = rows[active]?.depth ?? 0;
  for (let index = active - 1; index >= 0; index -= 1) {
    if ((rows[index]?.depth ?? 0) < depth) return index;
  }
  return 0;
}
