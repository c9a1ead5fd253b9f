import { type FormEvent, useId, useState } from "react";
import { isFields, parseJson, toJson } from "../../ui/conversation/fields.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { JsonField, useJsonText } from "../../ui/form/json-field.tsx";
import { ErrorState } from "../../ui/states.tsx";

type Update = { values: unknown; as_node?: string; checkpoint_id?: string };

type Props = {
  values: unknown;
  checkpoint_id: string | undefined;
  /** Names to choose from. */
  nodes: string[];
  onEdit: (update: Update) => Promise<unknown>;
  onClose: () => void;
};

/** Writes a checkpoint as if a node had written the values. */
export function EditState({ values, checkpoint_id, nodes, onEdit, onClose }: Props) {
  const { field, read } = useJsonText(toJson(editable(values), 2), parseJson);
  const [node, setNode] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const nodeField = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const written = read();
    if (written === null) return;
    setBusy(true);
    try {
      const update = { values: written.value, ...(node && { as_node: node }) };
      await onEdit({ ...update, ...(checkpoint_id && { checkpoint_id }) });
      onClose();
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Edit state" onClose={onClose} wide>
      <form onSubmit={(event) => void submit(event)}>
        <div className="bd grid gap-3">
          <p className="mid sm">
            The values are written as a new checkpoint{checkpoint_id ? " after the chosen one" : ""}
            ; nothing is deleted. The graph's reducers apply: a message replaces the one with its
            id, and another is appended.
          </p>
          <JsonField label="Values to write, as JSON" maxLines={16} {...field} />
          <div className="field">
            <label htmlFor={nodeField}>Written as node</label>
            <input
              id={nodeField}
              className="in mono"
              autoComplete="off"
              list={`${nodeField}-nodes`}
              value={node}
              onChange={(event) => setNode(event.target.value)}
            />
            <datalist id={`${nodeField}-nodes`}>
              {nodes.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
            <span className="hint">
              Decides which node runs next. Empty: the node that wrote last.
            </span>
          </div>
          {error && <ErrorState what="The state was not written" error={error} />}
        </div>
        <FormFooter act="Write state" busy="Writing" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** Leaves out all messages but the last: to write them again would change nothing, and they are long. */
function editable(values: unknown): unknown {
  if (!isFields(values)) return values ?? {};
  const { messages, ...rest } = values;
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isFields(last) && typeof last.id === "string" ? { ...rest, messages: [last] } : rest;
}
