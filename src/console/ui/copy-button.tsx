import { useEffect, useState } from "react";
import { Icon } from "./icon.tsx";

const SHOWN_MS = 1200;

type Props = {
  /** A function when the text is long, or is built for the copy only. */
  text: string | (() => string);
  label: string;
  showLabel?: boolean;
};

export function CopyButton({ text, label, showLabel = false }: Props) {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(
      () => setState("copied"),
      () => setState("refused"),
    );
  };
  const done = { idle: "", copied: "Copied", refused: "The browser refused to copy" }[state];
  return (
    <button
      type="button"
      className={`btn ghost sm ${showLabel ? "" : "icon"}`}
      aria-label={showLabel ? undefined : label}
      title={done || label}
      onClick={copy}
    >
      <Icon name={state === "copied" ? "check" : "copy"} small />
      {showLabel && label}
      <span className="sr" role="status">
        {done}
      </span>
    </button>
  );
}
