import { type FormEvent, useState } from "react";
import { JsonField } from "../../ui/form/json-field.tsx";

const MAX_LINES = 10;

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
      <JsonField
        label={label}
        className="field w-full"
        text={text}
        maxLines={MAX_LINES}
        placeholder={placeholder}
        problem={problem}
        onEdit={(next) => {
          setText(next);
          setProblem(null);
        }}
      />
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
