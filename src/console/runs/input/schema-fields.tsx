import type { InputField } from "./input-schema.ts";

type Props = {
  fields: InputField[];
  /** Texts that were typed, by the names of their fields. */
  texts: Record<string, string>;
  problems: Record<string, string>;
  onChange: (name: string, text: string) => void;
};

/** A control for each field of a schema. */
export function SchemaFields({ fields, texts, problems, onChange }: Props) {
  return (
    <div className="grid gap-3">
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          text={texts[field.name] ?? field.initial}
          problem={problems[field.name]}
          onChange={(text) => onChange(field.name, text)}
        />
      ))}
    </div>
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
      <select
        className="in"
        aria-invalid={isInvalid}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">Not set</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    );
  }
  if (kind === "number" || kind === "integer") {
    return (
      <input
        className="in mono"
        inputMode={kind === "integer" ? "numeric" : "decimal"}
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
