import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Icon } from "./icon.tsx";

const WAIT_MS = 250;

type Props = { label: string; value: string; onChange: (text: string) => void };

/** Changes the address after a pause in typing. `/` puts the focus here. */
export function SearchField({ label, value, onChange }: Props) {
  const [text, setText] = useState(value);
  /** The text that the address has, or is about to have without spaces around it. */
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
    }, WAIT_MS);
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
