import { SecretArea } from "../../ui/form/secret-area.tsx";
import { Icon } from "../../ui/icon.tsx";

export type SecretRow = { key: string; name: string; value: string };

export function emptySecret(): SecretRow {
  return { key: crypto.randomUUID(), name: "", value: "" };
}

type Props = { rows: SecretRow[]; onChange: (rows: SecretRow[]) => void };

/** Fields for environment variables. Their values are sent once, and the service never returns them. */
export function SecretRows({ rows, onChange }: Props) {
  const set = (key: string, change: Partial<SecretRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...change } : row)));
  return (
    <fieldset className="field border-0 p-0 m-0">
      <legend className="label mb-1">Secrets</legend>
      {rows.map(({ key, name, value }, index) => (
        <div key={key} className="row">
          <input
            className="in mono"
            aria-label={`Name of secret ${index + 1}`}
            placeholder="OPENAI_API_KEY"
            value={name}
            autoComplete="off"
            required={value !== ""}
            onChange={(event) => set(key, { name: event.target.value })}
          />
          <SecretArea
            aria-label={`Value of secret ${index + 1}`}
            placeholder="Value"
            value={value}
            required={name.trim() !== ""}
            onChange={(event) => set(key, { value: event.target.value })}
          />
          <button
            type="button"
            className="btn ghost icon"
            aria-label={`Remove secret ${index + 1}`}
            onClick={() => onChange(rows.filter((row) => row.key !== key))}
          >
            <Icon name="close" small />
          </button>
        </div>
      ))}
      <div>
        <button type="button" className="btn sm" onClick={() => onChange([...rows, emptySecret()])}>
          <Icon name="plus" small /> Add a secret
        </button>
      </div>
    </fieldset>
  );
}
