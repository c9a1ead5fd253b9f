import { type FormEvent, type ReactNode, useState } from "react";
import { inputFields, readInput } from "./input-schema.ts";
import { JsonForm } from "./json-form.tsx";
import { SchemaFields } from "./schema-fields.tsx";

type Props = {
  /**
   * Key of the typed texts. It must not contain the thread: the first run of a page creates one, and the form is drawn
   * anew.
   */
  draftKey: string;
  /** JSON Schema of the input, `null` when unknown. */
  schema: unknown;
  isBusy: boolean;
  /** Controls after those of the form. */
  end?: ReactNode;
  onSend: (input: unknown) => void;
};

/** Typed texts by `draftKey`, until the page is loaded again. */
const drafts = new Map<string, Record<string, string>>();

/** The fields of a graph's input, or one field for any JSON when the schema is unknown or the person prefers JSON. */
export function InputForm({ draftKey, schema, isBusy, end, onSend }: Props) {
  const fields = inputFields(schema);
  const [isJson, setJson] = useState(false);
  const [texts, setTexts] = useState(drafts.get(draftKey) ?? {});
  const [problems, setProblems] = useState<Record<string, string>>({});
  if (fields.length === 0 || isJson) {
    return (
      <JsonForm
        label="Input, as JSON"
        act="Run"
        initial="{}"
        isBusy={isBusy}
        end={end}
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
      <div className="max-h-[40vh] overflow-auto">
        <SchemaFields
          fields={fields}
          texts={texts}
          problems={problems}
          onChange={(name, text) => {
            const next = { ...texts, [name]: text };
            drafts.set(draftKey, next);
            setTexts(next);
          }}
        />
      </div>
      <div className="row">
        <button type="submit" className="btn pri" disabled={isBusy}>
          {isBusy ? "Running" : "Run"}
        </button>
        <button type="button" className="btn ghost" onClick={() => setJson(true)}>
          Write JSON
        </button>
        {end}
      </div>
    </form>
  );
}
