import { type FormEvent, useState } from "react";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Field, SelectField } from "../../../ui/form/field.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { useToast } from "../../../ui/toasts.tsx";

/** Keys of metadata that identify a user or a thread. Clients use three keys for a thread. */
const KEYS = {
  User: ["user_id"],
  Thread: ["thread_id", "session_id", "conversation_id"],
};
const TITLE = "Delete the traces of a person or a thread";

type Kind = keyof typeof KEYS;
type Wanted = { kind: Kind; value: string };

/** Deletes the traces of a person or of a conversation, in all projects. */
export function DeleteTraces() {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const toast = useToast();
  const { mutateAsync } = useApiChange<Wanted, { message: string }>({
    path: apiPath`/api/v1/runs/delete`,
    body: ({ kind, value }) => ({
      metadata: Object.fromEntries(KEYS[kind].map((key) => [key, value])),
    }),
    invalidates: [apiPath`/api/v1/runs`],
  });
  if (!useMay("delete")) return null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const value = String(form.get("value")).trim();
    if (value !== "") setWanted({ kind: form.get("kind") as Kind, value });
  };
  return (
    <Panel title={TITLE} label={TITLE}>
      <form className="in-p grid gap-3" onSubmit={submit}>
        <SelectField
          label="Traces of a"
          name="kind"
          hint="A trace is deleted when any of its spans has the id in its metadata."
        >
          {Object.entries(KEYS).map(([kind, keys]) => (
            <option key={kind} value={kind}>
              {kind}, by {keys.join(" or ")}
            </option>
          ))}
        </SelectField>
        <Field label="Id" name="value" required className="mono" />
        <div>
          <button type="submit" className="btn danger">
            Delete traces
          </button>
        </div>
      </form>
      {wanted && (
        <ConfirmDialog
          title={`Delete all traces of this ${wanted.kind.toLowerCase()}?`}
          act="Delete traces"
          keep="Keep them"
          isDestructive
          typed={wanted.value}
          onAct={async () => toast((await mutateAsync(wanted)).message)}
          onClose={() => setWanted(null)}
        >
          In every project: spans, feedback, attachments and public links are deleted at once, and
          the last bytes of them within the hour. Exported files and threads stay. The audit log
          keeps who deleted them and when, and a digest of the id. This cannot be undone.
        </ConfirmDialog>
      )}
    </Panel>
  );
}
