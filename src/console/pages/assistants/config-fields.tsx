import { SchemaFields } from "../../runs/input/schema-fields.tsx";
import { JsonField } from "../../ui/form/json-field.tsx";
import { type ConfigDraft, configFields, contextFields, type Schemas } from "./config-draft.ts";

const MAX_LINES = 10;

type Props = {
  draft: ConfigDraft;
  schemas: Schemas;
  problems: Record<string, string>;
  onChange: (draft: ConfigDraft) => void;
};

/** Fields of the graph's schemas for configuration and context, and JSON for all other keys. */
export function ConfigFields({ draft, schemas, problems, onChange }: Props) {
  const configurable = configFields(schemas);
  const context = contextFields(schemas);
  const fieldsOf = (part: "configurable" | "contextFields", fields: typeof context) => (
    <SchemaFields
      fields={fields}
      texts={draft[part]}
      problems={problems}
      onChange={(name, text) => onChange({ ...draft, [part]: { ...draft[part], [name]: text } })}
    />
  );
  return (
    <>
      {configurable.length > 0 && (
        <fieldset className="grid gap-3" aria-label="Configuration">
          {fieldsOf("configurable", configurable)}
        </fieldset>
      )}
      <JsonField
        label={configurable.length > 0 ? "Other configuration, as JSON" : "Config, as JSON"}
        text={draft.config}
        maxLines={MAX_LINES}
        problem={problems.config ?? null}
        onEdit={(config) => onChange({ ...draft, config })}
      />
      {context.length > 0 && (
        <fieldset className="grid gap-3" aria-label="Context">
          {fieldsOf("contextFields", context)}
        </fieldset>
      )}
      <JsonField
        label={context.length > 0 ? "Other context, as JSON" : "Context, as JSON"}
        text={draft.context}
        maxLines={MAX_LINES}
        problem={problems.context ?? null}
        onEdit={(text) => onChange({ ...draft, context: text })}
      />
    </>
  );
}
