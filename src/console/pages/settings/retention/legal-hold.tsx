import { useState } from "react";
import type { Project } from "../../../../traces/projects/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { useToast } from "../../../ui/toasts.tsx";

/** Shows whether a project is on legal hold, which prevents the deletion of its traces. Admins can change the hold. */
export function LegalHold({ project: { id, name, legal_hold } }: { project: Project }) {
  const mayDelete = useMay("delete");
  const [isOpen, setOpen] = useState(false);
  const toast = useToast();
  const { mutateAsync } = useApiChange<boolean, Project>({
    method: "PATCH",
    path: apiPath`/api/v1/sessions/${id}`,
    body: (hold) => ({ legal_hold: hold }),
    invalidates: [apiPath`/api/v1/sessions`],
  });
  if (!mayDelete) return legal_hold ? "on hold" : "no";
  const change = async () => {
    await mutateAsync(!legal_hold);
    toast(legal_hold ? "The legal hold has ended" : "The project is on legal hold");
  };
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setOpen(true)}>
        {legal_hold ? "End the hold" : "Hold"}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={legal_hold ? `End the legal hold of ${name}?` : `Put ${name} on legal hold?`}
          act={legal_hold ? "End the hold" : "Put on hold"}
          keep="Keep as it is"
          isDestructive={legal_hold}
          onAct={change}
          onClose={() => setOpen(false)}
        >
          {legal_hold
            ? "Traces that are past their retention are deleted within minutes."
            : "No trace of the project expires, and nothing of it can be deleted, until an admin ends the hold."}
        </ConfirmDialog>
      )}
    </>
  );
}
