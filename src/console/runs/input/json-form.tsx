import { type FormEvent, useId, useState } from "react";

type Props = {
  label: string;
  /** The act on the button. */
  act: string;
  initial: string;
  placeholder?: string;
  isBusy: boolean;
  onSend: (value: unknown) => void;
  onBack?: () => void;
};

/** A field for any JSON value. An invalid one is named before anything is sent. */
export function JsonForm({ label, act, initial, placeholder, ...rest }: Props) {
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState<string | null>(null);
  const id = useId();
  const { isBusy, onSend, onBack } = rest;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    try {
      onSend(JSON.parse(text));
    } catch (error) {
      setProblem(`Not JSON: ${(error as Error).message}. Put text in double quotes.`);
    }
  };
  return (
    <form className="ft" onSubmit={submit}>
      <div className="field w-full">
        <label htmlFor={id}>{label}</label>
        <textarea
          id={id}
          className="in mono"
          rows={Math.min(10, text.split("\n").length + 1)}
          placeholder={placeholder}
          aria-invalid={problem !== null}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setProblem(null);
          }}
        />
        {problem !== null && (
          <span className="bad" role="alert">
            {problem}
          </span>
        )}
      </div>
      <button type="submit" className="btn pri" disabled={isBusy || text.trim() === ""}>
        {isBusy ? "Sending" : act}
      </button>
      {onBack && (
        <button type="button" className="btn ghost" onClick={onBack}>
          Back
        </button>
      )}
    </form>
  );
}
