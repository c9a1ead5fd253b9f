import { type FormEvent, useState } from "react";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiChange, useApiQuery } from "../../api/hooks.ts";
import { type ApiPath, under } from "../../api/path.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Optional, SelectField } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { ErrorState, Skeleton } from "../../ui/states.tsx";
import {
  type ConfigDraft,
  draftOf,
  type Naming,
  readDraft,
  readNaming,
  type Schemas,
} from "./config-draft.ts";
import { ConfigFields } from "./config-fields.tsx";

type Props = {
  path: ApiPath;
  /** The assistant to edit, absent for a new one. */
  assistant?: Assistant;
  onSaved: (assistant: Assistant) => void;
  onClose: () => void;
};

const MAX_GRAPHS = 100;

/** A new assistant of a graph, or a new version of one. */
export function AssistantForm({ path, assistant, onSaved, onClose }: Props) {
  const graphs = useApiQuery<Assistant[]>(under(path)`/search`, {
    post: { metadata: { created_by: "system" }, limit: MAX_GRAPHS, sort_by: "graph_id" },
    enabled: assistant === undefined,
  });
  const [chosen, setChosen] = useState(assistant?.graph_id);
  const naming = useState({
    name: assistant?.name ?? "",
    description: assistant?.description ?? "",
  });
  const graph_id = chosen ?? graphs.data?.[0]?.graph_id;
  const schemas = useApiQuery<Schemas>(
    graph_id === undefined ? null : under(path)`/${graph_id}/schemas`,
  );
  const error = graphs.error ?? schemas.error;
  return (
    <Dialog title={assistant ? `Edit ${assistant.name}` : "New assistant"} onClose={onClose} wide>
      {!assistant && graph_id !== undefined && (
        <div className="bd">
          <SelectField
            label="Graph"
            value={graph_id}
            onChange={(event) => setChosen(event.target.value)}
          >
            {graphs.data?.map((each) => (
              <option key={each.assistant_id}>{each.graph_id}</option>
            ))}
          </SelectField>
        </div>
      )}
      {error && <ErrorState what="The graph could not be read" error={error} />}
      {schemas.data === undefined || graph_id === undefined ? (
        <Skeleton />
      ) : (
        <Fields
          key={graph_id}
          {...{ path, assistant, graph_id, naming, onSaved, onClose, schemas: schemas.data }}
        />
      )}
    </Dialog>
  );
}

type FieldsProps = Omit<Props, "assistant"> & {
  assistant: Assistant | undefined;
  graph_id: string;
  /** Kept when another graph is chosen. */
  naming: [Naming, (texts: Naming) => void];
  schemas: Schemas;
};

function Fields({ path, assistant, graph_id, naming, schemas, onSaved, onClose }: FieldsProps) {
  const [texts, setTexts] = naming;
  const [draft, setDraft] = useState<ConfigDraft>(() => draftOf(assistant, schemas));
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = useApiChange<object, Assistant>({
    method: assistant ? "PATCH" : "POST",
    path: assistant ? under(path)`/${assistant.assistant_id}` : path,
    body: (request) => request,
    invalidates: [path],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { values, problems: found } = readDraft(draft, schemas, assistant);
    setProblems(found);
    if (Object.keys(found).length > 0) return;
    const named = readNaming(texts, assistant);
    save.mutate({ ...values, graph_id, ...named }, { onSuccess: onSaved });
  };
  return (
    <form onSubmit={submit}>
      <div className="bd grid gap-3">
        <Field
          label="Name"
          required
          autoFocus
          maxLength={255}
          value={texts.name}
          onChange={(event) => setTexts({ ...texts, name: event.target.value })}
        />
        <Field
          label={<Optional>Description</Optional>}
          maxLength={10_000}
          value={texts.description}
          onChange={(event) => setTexts({ ...texts, description: event.target.value })}
        />
        <ConfigFields draft={draft} schemas={schemas} problems={problems} onChange={setDraft} />
        {assistant && <p className="hint">Creates a version, which runs use from then on.</p>}
        {save.error && <ErrorState what="The assistant was not saved" error={save.error} />}
      </div>
      <FormFooter
        act={assistant ? "Save version" : "Create assistant"}
        busy="Saving"
        isBusy={save.isPending}
        onClose={onClose}
      />
    </form>
  );
}
