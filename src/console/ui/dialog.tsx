import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { ErrorState } from "./states.tsx";

type DialogProps = { title: string; onClose: () => void; children: ReactNode; wide?: boolean };

/** A native modal: the browser keeps the focus inside. The focus returns to the opener when the dialog is removed. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const giveBack = keepOpener();
    ref.current?.showModal();
    return giveBack;
  }, []);
  return (
    <dialog
      ref={ref}
      className="dlg m-auto"
      style={wide ? { width: "min(720px, calc(100vw - 32px))" } : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id} className="break-words">
          {title}
        </h2>
      </header>
      {children}
    </dialog>
  );
}

/**
 * Returns a function that returns the focus to the opener. When Enter closes the dialog, it waits for the release
 * of the key: the browser clicks a button that gets the focus while Enter is down.
 */
function keepOpener(): () => void {
  const opener = document.activeElement;
  const leave = new AbortController();
  let isEnterDown = false;
  const notice = ({ type, key }: KeyboardEvent) => {
    if (key === "Enter") isEnterDown = type === "keydown";
  };
  for (const type of ["keydown", "keyup"] as const) {
    document.addEventListener(type, notice, { capture: true, signal: leave.signal });
  }
  const focus = () => {
    if (opener instanceof HTMLElement) opener.focus();
  };
  const focusIfLost = () => {
    if (document.activeElement === document.body) focus();
  };
  return () => {
    leave.abort();
    if (isEnterDown) document.addEventListener("keyup", focusIfLost, { capture: true, once: true });
    else focus();
  };
}

type ConfirmProps = {
  title: string;
  /** The effect: what happens, to whom, how fast, and whether it can be undone. */
  children: ReactNode;
  /** The act, such as "Roll back now". */
  act: string;
  /** The opposite, such as "Keep as it is". Has the focus, unless a text must be typed. */
  keep: string;
  onAct: () => Promise<unknown>;
  onClose: () => void;
  isDestructive?: boolean;
  /** Text that must be typed first: the name of what is deleted. */
  typed?: string;
};

/**
 * Closes after the service has confirmed. It cannot be closed while the service works, because that would not undo the
 * act. A failure is shown in the dialog.
 */
export function ConfirmDialog({
  title,
  children,
  act,
  keep,
  onAct,
  onClose,
  ...rest
}: ConfirmProps) {
  const { isDestructive = false, typed } = rest;
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const isReady = typed === undefined || (typed !== "" && text === typed);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isReady || isBusy) return;
    setBusy(true);
    onAct().then(onClose, (failure: Error) => {
      setError(failure);
      setBusy(false);
    });
  };
  return (
    <Dialog title={title} onClose={() => isBusy || onClose()}>
      <form onSubmit={submit}>
        <div className="bd mid grid gap-3">
          <div>{children}</div>
          {typed !== undefined && <TypedName name={typed} text={text} onChange={setText} />}
          {error && <ErrorState what={`${act} failed`} error={error} />}
        </div>
        <footer>
          <button
            type="button"
            className="btn"
            // biome-ignore lint/a11y/noAutofocus: the safe button of a dialog has the focus
            autoFocus={typed === undefined}
            disabled={isBusy}
            onClick={onClose}
          >
            {keep}
          </button>
          <button
            type="submit"
            className={`btn ${isDestructive ? "danger-pri" : "pri"}`}
            disabled={!isReady || isBusy}
          >
            {isBusy ? "Working" : act}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

type TypedProps = { name: string; text: string; onChange: (text: string) => void };

function TypedName({ name, text, onChange }: TypedProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        Type <code className="break-all">{name}</code> to confirm
      </label>
      <input
        id={id}
        className="in mono"
        autoComplete="off"
        // biome-ignore lint/a11y/noAutofocus: a dialog begins at its one field
        autoFocus
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
