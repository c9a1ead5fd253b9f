import { type FormEvent, useState } from "react";
import { type InputField, inputFields, readInput } from "./input-schema.ts";
import { JsonForm } from "./json-form.tsx";

type Props = {
  /** JSON Schema of the input, `null` when unknown. */
  schema: unknown;
  isBusy: boolean;
  onSend: (input: unknown) => void;
};

/** The fields of a graph's input; any JSON where its schema is unknown. */
export function InputForm({ schema, isBusy, onSend }: Props) {
  const fields = inputFields(schema);
  const [isJson, setJson] = useState(false);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [problems, setProblems] = useState<Record<string, string>>({});
  if (fields.length === 0 || isJson) {
    return (
      <JsonForm
        label="Input, as JSON"
        act="Run"
        initial="{}"
        isBusy={isBusy}
        onSend={onSend}
        {...(fields.length > 0 && { onBack: () => setJson(false) })}
      />
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readInput(fields, texts);
    setProblems(read.problems);
    if (Object.keys(read.problems).length === 0) onSend(read.input);
  };
  return (
    <form onSubmit={submit} className="grid gap-3">
      <div className="grid gap-3 max-h-[40vh] overflow-auto">
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            text={texts[field.name] ?? field.initial}
            problem={problems[field.name]}
            onChange={(text) => setTexts({ ...texts, [field.name]: text })}
          />
        ))}
      </div>
      <div className="row">
        <button type="submit" className="btn pri" disabled={isBusy}>
          {isBusy ? "Starting" : "Run"}
        </button>
        <button type="button" className="btn ghost" onClick={() => setJson(true)}>
          Write JSON
        </button>
      </div>
    </form>
  );
}

type FieldProps = {
  field: InputField;
  text: string;
  problem: string | undefined;
  onChange: (text: string) => void;
};

function FieldInput({ field, text, problem, onChange }: FieldProps) {
  const { name, description, isRequired } = field;
  return (
    <div className="field">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is the component inside */}
      <label>
        <span className="mono">{name}</span>
        {isRequired && <span className="dim"> required</span>}
        <Control field={field} text={text} isInvalid={problem !== undefined} onChange={onChange} />
      </label>
      {description !== null && <span className="hint">{description}</span>}
      {problem !== undefined && (
        <span className="bad" role="alert">
          {name} {problem}
        </span>
      )}
    </div>
  );
}

type ControlProps = {
  field: InputField;
  text: string;
  isInvalid: boolean;
  onChange: (text: string) => void;
};

function Control({ field: { kind, choices }, text, isInvalid, onChange }: ControlProps) {
  const options = kind === "boolean" ? ["true", "false"] : choices;
  if (kind === "boolean" || kind === "choice") {
    return (
      <select className="in" value={text} onChange={(event) => onChange(event.target.value)}>
        <option value="">Not set</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    );
  }
  if (kind === "number") {
    return (
      <input
        className="in mono"
        inputMode="decimal"
        aria-invalid={isInvalid}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <textarea
      className={`in ${kind === "json" ? "mono" : ""}`}
      rows={kind === "json" ? 3 : 2}
      aria-invalid={isInvalid}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
