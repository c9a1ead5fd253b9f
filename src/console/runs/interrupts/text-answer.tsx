import { type FormEvent, useState } from "react";
import { toJson } from "../../ui/conversation/fields.ts";
import { TextAreaField } from "../../ui/form/field.tsx";

type Props = {
  /** Answers that the agent offers. */
  options: unknown[];
  isBusy: boolean;
  onSend: (answer: unknown) => void;
  onJson: () => void;
};

/** An answer to a question without actions: one of its options, or a text. */
export function TextAnswer({ options, isBusy, onSend, onJson }: Props) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") onSend(text);
  };
  return (
    <form className="ft" onSubmit={submit}>
      {options.map((option) => {
        const shown = typeof option === "string" ? option : toJson(option);
        return (
          <button
            key={shown}
            type="button"
            className="btn"
            disabled={isBusy}
            onClick={() => onSend(option)}
          >
            <bdi className="cut">{shown}</bdi>
          </button>
        );
      })}
      <TextAreaField
        label="Answer"
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="btn pri" disabled={isBusy || text.trim() === ""}>
        {isBusy ? "Sending" : "Answer"}
      </button>
      <button type="button" className="btn ghost" onClick={onJson}>
        As JSON
      </button>
    </form>
  );
}
