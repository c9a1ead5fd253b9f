import { COMPRESSIONS, EXPORT_FIELDS, type ExportDraft } from "../../exports/draft.ts";
import { FormSection } from "../../exports/section.tsx";
import { SelectField } from "../../ui/form/field.tsx";

type Props = { draft: ExportDraft; onChange: (change: Partial<ExportDraft>) => void };

/** Fields for the columns, the compression and the version of the files. */
export function FormatFields({ draft, onChange }: Props) {
  const { compression, format_version } = draft;
  return (
    <FormSection
      number={3}
      title="Shape"
      end={
        <span className="sm dim">
          {draft.fields.length} of {EXPORT_FIELDS.length} columns
        </span>
      }
    >
      <SelectField
        label="Compression"
        value={compression}
        onChange={(event) =>
          onChange({
            compression: COMPRESSIONS.find((each) => each === event.target.value) ?? "none",
          })
        }
      >
        {COMPRESSIONS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      <SelectField
        label="Version of the columns"
        value={format_version}
        onChange={(event) =>
          onChange({ format_version: event.target.value === "v1" ? "v1" : "v2_beta" })
        }
      >
        <option>v2_beta</option>
        <option>v1</option>
      </SelectField>
      <Columns draft={draft} onChange={onChange} />
    </FormSection>
  );
}

/** Columns with large texts, which are most of the bytes of a file. */
const PAYLOADS: readonly string[] = ["inputs", "outputs", "extra", "events"];

function Columns({ draft: { fields }, onChange }: Props) {
  const toggle = (name: string, isOn: boolean) =>
    onChange({
      fields: EXPORT_FIELDS.filter((each) => (each === name ? isOn : fields.includes(each))),
    });
  return (
    <details className="full">
      <summary className="label">Columns</summary>
      <div className="row wrap my-2">
        <button
          type="button"
          className="btn sm"
          onClick={() => onChange({ fields: [...EXPORT_FIELDS] })}
        >
          All
        </button>
        <button
          type="button"
          className="btn sm"
          onClick={() =>
            onChange({ fields: EXPORT_FIELDS.filter((each) => !PAYLOADS.includes(each)) })
          }
        >
          Without payloads
        </button>
      </div>
      <div className="columns">
        {EXPORT_FIELDS.map((name) => (
          <label key={name} className="check">
            <input
              type="checkbox"
              checked={fields.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
            <code>{name}</code>
          </label>
        ))}
      </div>
    </details>
  );
}
