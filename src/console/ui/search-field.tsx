import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Icon } from "./icon.tsx";

const DEBOUNCE_MS = 250;

type Props = { label: string; value: string; onChange: (text: string) => void };

/** Calls `onChange` after a pause in typing. The `search` class is how `shell/keys.ts` finds the field for the key `/`. */
export function SearchField({ label, value, onChange }: Props) {
  const [text, setText] = useState(value);
  /**
   * Last text passed to `onChange`. It distinguishes an outside change of `value` from its own, which comes back
   * trimmed.
   */
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current.trim()) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const send = useEffectEvent(onChange);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      send(text);
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="search w-70">
      <Icon name="search" small />
      <input
        className="in"
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <kbd>/</kbd>
    </div>
  );
}
