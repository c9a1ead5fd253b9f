import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Icon } from "../icon.tsx";

type Props = {
  label: string;
  /** Key of the unsent text in this tab's storage. The text survives a reload and an expired session. */
  draftKey: string;
  onSend: (text: string) => Promise<unknown>;
  buttonText?: string;
  /** Controls at the start of the footer. */
  children?: ReactNode;
  /** Controls beside the button that sends. */
  end?: ReactNode;
};

/** A field for a message. Its text stays until `onSend` resolves. */
export function Composer(props: Props) {
  const { label, draftKey, onSend, buttonText = "Send", children, end } = props;
  const [text, setText] = useDraft(draftKey);
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
        readOnly={isBusy}
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
              <Icon name="send" small /> {isBusy ? "Sending" : buttonText}
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
