import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";

type Props = { deployment: Deployment };

/**
 * Builds a branch, a tag or a commit as a preview, or to take the traffic of the deployment. Draws nothing for viewers,
 * and for uploads, which have no branches.
 */
export function NewRevision({ deployment }: Props) {
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
  if (!mayWrite || deployment.source_config.repo_url === null) return null;
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setOpen(true)}>
        <Icon name="plus" small /> New
      </button>
      {isOpen && <NewRevisionDialog deployment={deployment} onClose={() => setOpen(false)} />}
    </>
  );
}

function NewRevisionDialog({ deployment, onClose }: Props & { onClose: () => void }) {
  const toast = useToast();
  const navigate = useNavigate();
  const create = useApiChange<FormData, Revision>({
    path: apiPath`/v2/deployments/${deployment.id}/revisions`,
    body: toRequest,
    invalidates: ["/v2/deployments"],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(new FormData(event.currentTarget), {
      onSuccess: ({ id, is_preview }) => {
        toast(is_preview ? "A preview builds" : "A new revision builds");
        onClose();
        void navigate({ to: ".", search: { rev: id } });
      },
    });
  };
  return (
    <Dialog title={`New revision of ${deployment.name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field
            label="Branch, tag or commit"
            name="repo_ref"
            className="mono"
            required
            autoFocus
            defaultValue={deployment.source_revision_config.repo_ref ?? "main"}
          >
            A tag is refs/tags/NAME.
          </Field>
          <fieldset className="field border-0 p-0 m-0">
            <legend className="label mb-1">When it is built</legend>
            <label className="check">
              <input type="radio" name="activate" value="false" defaultChecked />
              <span>Preview: serves at another URL, and takes no traffic</span>
            </label>
            <label className="check">
              <input type="radio" name="activate" value="true" />
              <span>Serve: takes all traffic, and the deployment follows this branch</span>
            </label>
          </fieldset>
          {create.error && <ErrorState what="No revision was created" error={create.error} />}
        </div>
        <FormFooter act="Build" busy="Starting" isBusy={create.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function toRequest(form: FormData) {
  return {
    source_revision_config: { repo_ref: String(form.get("repo_ref")).trim() },
    activate: form.get("activate") === "true",
  };
}
