import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Icon } from "../icon.tsx";

type Props = {
  label: string;
  /** Name under which this tab keeps the text until it is sent, also over the end of a session. */
  draft: string;
  onSend: (text: string) => Promise<unknown>;
  /** Text of the button. */
  act?: string;
  /** Controls at the start of the footer. */
  children?: ReactNode;
  /** Controls beside the button that sends. */
  end?: ReactNode;
};

/** A text that waits for its confirmation: it stays in the field until the service accepted it. */
export function Composer({ label, draft, onSend, act = "Send", children, end }: Props) {
  const [text, setText] = useDraft(draft);
  const [isBusy, setBusy] = useState(false);
  const send = () => {
    if (text.trim() === "" || isBusy) return;
    setBusy(true);
    onSend(text)
      .then(
        () => setText(""),
        () => {},
      )
      .finally(() => setBusy(false));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };
  return (
    <div className="composer">
      <textarea
        rows={2}
        aria-label={label}
        placeholder={label}
        value={text}
        onKeyDown={onKey}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="ft">
        {children}
        <span className="sm dim push hide-m">Ctrl Enter sends</span>
        <span className="push-m">
          <span className="row">
            {end}
            <button
              type="button"
              className="btn sm pri"
              disabled={text.trim() === "" || isBusy}
              onClick={send}
            >
              <Icon name="send" small /> {isBusy ? "Sending" : act}
            </button>
          </span>
        </span>
      </div>
    </div>
  );
}

function useDraft(name: string): [text: string, set: (text: string) => void] {
  const key = `heddle-draft ${name}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  const set = (next: string) => {
    setText(next);
    if (next === "") sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
  };
  return [text, set];
}
