import type { FormEvent, ReactNode } from "react";
import { parseJson } from "../../ui/conversation/fields.ts";
import { JsonField, useJsonText } from "../../ui/form/json-field.tsx";

const MAX_LINES = 10;

type Props = {
  label: string;
  /** Text of the button that sends. */
  act: string;
  initial: string;
  placeholder?: string;
  isBusy: boolean;
  /** Controls after those of the form. */
  end?: ReactNode;
  onSend: (value: unknown) => void;
  onBack?: () => void;
};

/** A field for any JSON value. Invalid JSON is shown as a problem, and not sent. */
export function JsonForm({ label, act, initial, placeholder, ...rest }: Props) {
  const { field, read } = useJsonText(initial, parseJson);
  const { isBusy, end, onSend, onBack } = rest;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = read();
    if (parsed) onSend(parsed.value);
  };
  return (
    <form className="ft" onSubmit={submit}>
      <JsonField
        label={label}
        className="field w-full"
        maxLines={MAX_LINES}
        placeholder={placeholder}
        {...field}
      />
      <button type="submit" className="btn pri" disabled={isBusy || field.text.trim() === ""}>
        {isBusy ? "Sending" : act}
      </button>
      {onBack && (
        <button type="button" className="btn ghost" onClick={onBack}>
          Back
        </button>
      )}
      {end}
    </form>
  );
}
