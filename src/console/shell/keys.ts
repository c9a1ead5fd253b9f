import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { PLACES } from "./places.ts";

type Handlers = { onPalette: () => void; onHelp: () => void; onRail: () => void };

const CHORD_MS = 1000;

/** Keys that work on each page. No single key changes data. */
export function useGlobalKeys({ onPalette, onHelp, onRail }: Handlers): void {
  const navigate = useNavigate();
  const id = useWorkspaceId();
  const chordUntil = useRef(0);
  const actions: Record<string, () => void> = { "?": onHelp, "[": onRail, "/": focusSearch };
  const actionOf = (event: KeyboardEvent) => {
    if (isPaletteKey(event)) return onPalette;
    if (isTyping(event.target) || isModified(event)) return undefined;
    return readChord(event.key) ?? actions[event.key];
  };
  // `g`, and then within `CHORD_MS` the key of a page.
  const readChord = (key: string) => {
    if (key === "g") chordUntil.current = Date.now() + CHORD_MS;
    const place = PLACES.find((each) => each.key === key);
    if (place === undefined || Date.now() > chordUntil.current) return undefined;
    return () => void navigate({ to: pathTo(id, place.path) });
  };
  const onKey = (event: KeyboardEvent) => {
    const action = actionOf(event);
    if (action) event.preventDefault();
    action?.();
  };
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

function isModified({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isPaletteKey({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && (ctrlKey || metaKey);
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function focusSearch(): void {
  document.querySelector<HTMLElement>("#main .search input")?.focus();
}
