import { type FormEvent, useId, useState } from "react";
import { changedFields, isFields, parseJson, toJson } from "../../ui/conversation/fields.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { JsonField, useJsonText } from "../../ui/form/json-field.tsx";
import { ErrorState } from "../../ui/states.tsx";

type Update = { values: unknown; as_node?: string; checkpoint_id?: string };

type Props = {
  values: unknown;
  checkpoint_id: string | undefined;
  /** Names of nodes that the field suggests. */
  nodes: string[];
  onEdit: (update: Update) => Promise<unknown>;
  onClose: () => void;
};

/** Writes a checkpoint as if a node had written the values. */
export function EditState({ values, checkpoint_id, nodes, onEdit, onClose }: Props) {
  const [shown] = useState(() => editable(values));
  const { field, read } = useJsonText(toJson(shown, 2), parseJson);
  const [node, setNode] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const written = read();
    if (written === null) return;
    const changed = changedFields(shown, written.value);
    if (node === "" && isFields(changed) && Object.keys(changed).length === 0) {
      setError(
        new Error("No value is changed: edit one, or name a node that decides what is next."),
      );
      return;
    }
    setBusy(true);
    try {
      const update = { values: changed, ...(node && { as_node: node }) };
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
            The values that you change are written as a new checkpoint
            {checkpoint_id ? " after the chosen one" : ""}; nothing is deleted. The graph's reducers
            apply: a list may be appended to the former one, and a message replaces the one with its
            id.
          </p>
          <JsonField label="Values to write, as JSON" maxLines={16} {...field} />
          <NodeField node={node} nodes={nodes} onChange={setNode} />
          {error && <ErrorState what="The state was not written" error={error} />}
        </div>
        <FormFooter act="Write state" busy="Writing" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

type NodeProps = { node: string; nodes: string[]; onChange: (node: string) => void };

function NodeField({ node, nodes, onChange }: NodeProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Written as node</label>
      <input
        id={id}
        className="in mono"
        autoComplete="off"
        list={`${id}-nodes`}
        value={node}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={`${id}-nodes`}>
        {nodes.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <span className="hint">Decides which node runs next. Empty: the node that wrote last.</span>
    </div>
  );
}

/**
 * Returns the values with the last message only, or without messages when it has no id. Messages are long, and need not
 * be written again.
 */
function editable(values: unknown): unknown {
  if (!isFields(values)) return values ?? {};
  const { messages, ...rest } = values;
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isFields(last) && typeof last.id === "string" ? { ...rest, messages: [last] } : rest;
}
