import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useApiChange } from "../../api/hooks.ts";
import { apiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { DeleteButton, EditButton } from "../../ui/blocks/item-buttons.tsx";
import { parseFields } from "../../ui/conversation/fields.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { JsonField, useJsonText } from "../../ui/form/json-field.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { Time } from "../../ui/values.tsx";
import type { StoreItem } from "./store-item.ts";

const route = getRouteApi("/w/$workspace/store");

type Props = { item: StoreItem; deployment: string };

/** Shows an item and its value. Editors can change and delete it. */
export function ItemDetail({ item, deployment }: Props) {
  const mayWrite = useMay("write");
  const [mode, setMode] = useState<"read" | "edit" | "delete">("read");
  const { namespace, key, value, created_at } = item;
  return (
    <Panel
      title={<span className="break-all">{key}</span>}
      end={
        mayWrite &&
        mode !== "edit" && (
          <>
            <EditButton onClick={() => setMode("edit")} />
            <DeleteButton label="Delete item" onClick={() => setMode("delete")} />
          </>
        )
      }
      footer={
        <span>
          <code className="break-all">{namespace.join(".")}</code>, created <Time at={created_at} />
        </span>
      }
    >
      <div className="in-p">
        {mode === "edit" ? (
          <EditItem item={item} deployment={deployment} onClose={() => setMode("read")} />
        ) : (
          <JsonView label="Value" value={value} />
        )}
      </div>
      {mode === "delete" && (
        <DeleteItem item={item} deployment={deployment} onClose={() => setMode("read")} />
      )}
    </Panel>
  );
}

type EditProps = Props & { onClose: () => void };

const INDENT = 2;
const MAX_LINES = 20;

function EditItem({ item: { namespace, key, value }, deployment, onClose }: EditProps) {
  const { field, read } = useJsonText(JSON.stringify(value, null, INDENT), parseFields);
  const toast = useToast();
  const path = apiPath`/agents/${deployment}/store`;
  const put = useApiChange<object>({
    method: "PUT",
    path: under(path)`/items`,
    body: (changed) => ({ namespace, key, value: changed }),
    invalidates: [path],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = read();
    if (!parsed) return;
    put.mutate(parsed.value, {
      onSuccess: () => {
        toast(`Saved ${key}`);
        onClose();
      },
    });
  };
  return (
    <form className="grid gap-3" onSubmit={submit}>
      <JsonField label="Value, a JSON object" maxLines={MAX_LINES} {...field} />
      <p className="hint">
        Saving also sets the retention and the index of the item to those of langgraph.json.
      </p>
      {put.error && (
        <ErrorState
          what="The item was not saved"
          error={put.error}
          intact="What you typed is still here."
        />
      )}
      <div className="row">
        <button type="submit" className="btn pri" disabled={put.isPending}>
          {put.isPending ? "Saving" : "Save item"}
        </button>
        <button type="button" className="btn ghost" onClick={onClose}>
          Keep as it was
        </button>
      </div>
    </form>
  );
}

function DeleteItem({ item: { namespace, key }, deployment, onClose }: EditProps) {
  const toast = useToast();
  const navigate = route.useNavigate();
  const path = apiPath`/agents/${deployment}/store`;
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(path)`/items`,
    body: () => ({ namespace, key }),
    // Does not invalidate the read of the item, which would be refused with 404.
    invalidates: [under(path)`/items/search`, under(path)`/namespaces`],
  });
  return (
    <ConfirmDialog
      title={`Delete ${key}?`}
      act="Delete item"
      keep="Keep it"
      isDestructive
      onAct={async () => {
        await mutateAsync();
        toast(`Deleted ${key}`);
        await navigate({ search: (former) => ({ ...former, key: undefined }) });
      }}
      onClose={onClose}
    >
      Agents no longer find it. This cannot be undone.
    </ConfirmDialog>
  );
}
