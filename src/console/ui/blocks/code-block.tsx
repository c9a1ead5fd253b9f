import { CopyButton } from "../copy-button.tsx";

type Props = { text: string; label: string; wrap?: boolean };

/** Text to copy, in monospace. */
export function CodeBlock({ text, label, wrap = true }: Props) {
  return (
    <div className="code">
      <section
        className="overflow-x-auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
        tabIndex={0}
        aria-label={label}
      >
        <pre className={wrap ? "whitespace-pre-wrap break-words" : ""}>{text}</pre>
      </section>
      <span className="copy">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </span>
    </div>
  );
}
