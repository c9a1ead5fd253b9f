import { type KeyboardEvent, useDeferredValue, useMemo, useState } from "react";
import { formatNumber } from "../formats.ts";
import { Icon } from "../icon.tsx";
import { findMatches, type JsonMatch, MAX_MATCHES, openTo, rowOfMatch } from "./search.ts";
import type { JsonRows } from "./use-json-rows.ts";

export type JsonSearchState = {
  text: string;
  setText: (text: string) => void;
  matches: JsonMatch[];
  /** Position in `matches` of the chosen match, -1 for none. */
  at: number;
  /** The row of the chosen match, -1 for none. */
  row: number;
  step: (by: number) => void;
};

/** Searches in closed nodes too, and opens them to show what it finds. */
export function useJsonSearch(value: unknown, tree: JsonRows): JsonSearchState {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const late = useDeferredValue(text);
  const matches = useMemo(() => findMatches(value, late), [value, late]);
  const match = matches[at];
  const row = useMemo(() => (match ? rowOfMatch(tree.rows, match) : -1), [match, tree.rows]);
  const step = (by: number) => {
    // The newest text may not be searched yet.
    const all = text === late ? matches : findMatches(value, text);
    if (all.length === 0) return;
    const next = at < 0 && by < 0 ? all.length - 1 : (at + by + all.length) % all.length;
    const found = all[next];
    if (found) tree.setOpened(openTo(value, tree.opened, found));
    setAt(next);
  };
  const change = (next: string) => {
    setText(next);
    setAt(-1);
  };
  return { text: late, setText: change, matches, at, row, step };
}

type Props = { label: string; search: JsonSearchState };

export function JsonSearch({ label, search }: Props) {
  const { setText, matches, at, step, text } = search;
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  return (
    <>
      {text !== "" && (
        <span className="dim sm nw" role="status">
          {countText(matches.length, at)}
        </span>
      )}
      <div className="search w-40">
        <Icon name="search" small />
        <input
          className="in h-6.5!"
          type="search"
          aria-label={`Search in ${label.toLowerCase()}`}
          placeholder="Search, then Enter"
          onKeyDown={onKey}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
    </>
  );
}

function countText(count: number, at: number): string {
  const total = count === MAX_MATCHES ? `${formatNumber(count)} or more` : formatNumber(count);
  return at < 0 ? `${total} found` : `${formatNumber(at + 1)} of ${total}`;
}
