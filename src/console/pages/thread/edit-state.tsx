import { type FormEvent, useId, useState } from "react";
import { isFields, toJson } from "../../ui/conversation/fields.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { TextAreaField } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { ErrorState } from "../../ui/states.tsx";

type Update = { values: unknown; as_node?: string; checkpoint_id?: string };

type Props = {
  values: unknown;
  checkpoint_id: string | undefined;
  onEdit: (update: Update) => Promise<unknown>;
  onClose: () => void;
};

/** Writes a checkpoint as if a node had written the values. */
export function EditState({ values, checkpoint_id, onEdit, onClose }: Props) {
  const [text, setText] = useState(toJson(editable(values), 2));
  const [node, setNode] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const nodeField = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const update = { values: JSON.parse(text) as unknown, ...(node && { as_node: node }) };
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
            ; nothing is deleted. The graph's reducers apply: a list such as messages is appended
            to.
          </p>
          <TextAreaField
            label="Values to write, as JSON"
            className="mono"
            rows={12}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <div className="field">
            <label htmlFor={nodeField}>Written as node</label>
            <input
              id={nodeField}
              className="in mono"
              autoComplete="off"
              value={node}
              onChange={(event) => setNode(event.target.value)}
            />
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

/** Messages are left out: writing them again would change nothing, and they are long. */
function editable(values: unknown): unknown {
  if (!isFields(values)) return values ?? {};
  const { messages: _, ...rest } = values;
  return rest;
}
