import { type KeyboardEvent, type RefObject, useMemo, useState } from "react";
import { type Completion, completionsAt, type KnownValues } from "../../../traces/completion.ts";

export type CompletionState = {
  isOpen: boolean;
  options: Completion[];
  chosen: number;
  open: () => void;
  close: () => void;
  accept: (index: number) => void;
  /** @returns whether the list has used the key */
  onKey: (event: KeyboardEvent) => boolean;
};

export function useCompletion(
  input: RefObject<HTMLInputElement | null>,
  text: string,
  known: KnownValues,
  setText: (text: string) => void,
): CompletionState {
  const [caret, setCaret] = useState<number | null>(null);
  const [chosen, setChosen] = useState(0);
  const found = useMemo(
    () => (caret === null ? null : completionsAt(text, Math.min(caret, text.length), known)),
    [caret, text, known],
  );
  const options = found?.options ?? [];
  const isOpen = options.length > 0;
  const open = () => {
    setChosen(0);
    setCaret(input.current?.selectionStart ?? text.length);
  };
  const close = () => setCaret(null);
  const accept = (index: number) => {
    const option = options[index];
    if (!option || !found) return;
    const next = text.slice(0, found.from) + option.insert + text.slice(found.to);
    const at = found.from + option.insert.length;
    setText(next);
    setChosen(0);
    setCaret(at);
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at));
  };
  const onKey = (event: KeyboardEvent) => {
    const act = isOpen ? KEYS[event.key] : undefined;
    if (act === undefined) return false;
    event.preventDefault();
    if (act === "close") close();
    else if (act === "accept") accept(chosen);
    else setChosen((chosen + act + options.length) % options.length);
    return true;
  };
  return { isOpen, options, chosen, open, close, accept, onKey };
}

/**
 * Keys of the open list. Enter is missing: it applies the filter, so that it does not insert a completion by accident.
 */
const KEYS: Record<string, number | "close" | "accept"> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Escape: "close",
  Tab: "accept",
};
