import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { LivePill, liveStateOf } from "../ui/live-pill.tsx";
import { isTyping } from "./keys.ts";

export type Polling = { isPaused: boolean; toggle: () => void };

/** Holds whether the polling of a page is paused, and toggles it with the key `f`. */
export function usePolling(): Polling {
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    const listener = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const isPlain = !ctrlKey && !metaKey && !altKey;
      if (key === "f" && isPlain && !isTyping(target)) setPaused((former) => !former);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return { isPaused, toggle: () => setPaused((former) => !former) };
}

type Props = {
  polling: Polling;
  query: UseQueryResult<unknown>;
  note?: string | undefined;
  /** The source of the data and how often it is read. */
  title: string;
};

/** Live pill with the button that pauses the page. */
export function LiveControl({ polling: { isPaused, toggle }, query, note, title }: Props) {
  return (
    <>
      <LivePill state={isPaused ? "paused" : liveStateOf(query)} note={note} title={title} />
      <button
        type="button"
        className="btn ghost icon sm"
        aria-label="Pause updates"
        aria-pressed={isPaused}
        title={isPaused ? "Follow (f)" : "Pause (f)"}
        onClick={toggle}
      >
        <Icon name={isPaused ? "play" : "pause"} small />
      </button>
    </>
  );
}
