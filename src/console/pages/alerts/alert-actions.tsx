import { useState } from "react";
import type { Alert } from "../../../control-plane/alerts/alert-schema.ts";
import { ALERTS } from "../../alerts/monitor-tabs.tsx";
import { useApiChange } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { InlineError } from "../../ui/blocks/inline-error.tsx";
import { DeleteButton, EditButton } from "../../ui/blocks/item-buttons.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { AlertForm } from "./alert-form.tsx";

type Props = { alert: Alert; onDeleted: () => void };

export function AlertActions({ alert, onDeleted }: Props) {
  const { id, enabled } = alert;
  const [dialog, setDialog] = useState<"edit" | "delete" | null>(null);
  const close = () => setDialog(null);
  const change = useApiChange<boolean, Alert>({
    method: "PATCH",
    path: under(ALERTS)`/${id}`,
    body: (value) => ({ enabled: value }),
    invalidates: [ALERTS],
  });
  return (
    <>
      <InlineError error={change.error} />
      <button
        type="button"
        className="btn sm"
        disabled={change.isPending}
        title={enabled ? "Ends its episode within a minute, with a webhook" : undefined}
        onClick={() => change.mutate(!enabled)}
      >
        <Icon name={enabled ? "pause" : "step"} small /> {enabled ? "Pause" : "Resume"}
      </button>
      <EditButton onClick={() => setDialog("edit")} />
      <DeleteButton label="Delete alert" onClick={() => setDialog("delete")} />
      {dialog === "edit" && <AlertForm alert={alert} onSaved={close} onClose={close} />}
      {dialog === "delete" && <DeleteAlert alert={alert} onDeleted={onDeleted} onClose={close} />}
    </>
  );
}

function DeleteAlert({ alert: { id, name }, onDeleted, onClose }: Props & { onClose: () => void }) {
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(ALERTS)`/${id}`,
    invalidates: [ALERTS],
  });
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      act="Delete alert"
      keep="Keep it"
      isDestructive
      onAct={async () => {
        await mutateAsync();
        onDeleted();
      }}
      onClose={onClose}
    >
      Its webhooks are deleted too, and an open episode gets no webhook at its end. This cannot be
      undone: pause it to be able to continue.
    </ConfirmDialog>
  );
}
