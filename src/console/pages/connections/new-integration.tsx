import type { FormEvent } from "react";
import type { Integration } from "../../../control-plane/deployments/git/integration-schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import type { ApiPath } from "../../api/path.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";

export function NewIntegration({ path, onClose }: { path: ApiPath; onClose: () => void }) {
  const toast = useToast();
  const create = useApiChange<object, Integration>({
    path,
    body: (request) => request,
    invalidates: [path],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(Object.fromEntries(new FormData(event.currentTarget)), {
      onSuccess: ({ name }) => {
        toast(`Created ${name}`);
        onClose();
      },
    });
  };
  return (
    <Dialog title="New integration" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field label="Name" name="name" required maxLength={100} autoFocus />
          <Field
            label="URL of the host's API"
            name="api_url"
            type="url"
            required
            className="mono"
            defaultValue="https://api.github.com"
          />
          <Field
            label="Access token"
            name="token"
            type="password"
            autoComplete="new-password"
            required
            className="mono"
          >
            Reads repositories. Encrypted here and never shown again.
          </Field>
          {create.error && (
            <ErrorState what="The integration was not created" error={create.error} />
          )}
        </div>
        <FormFooter
          act="Create integration"
          busy="Creating"
          isBusy={create.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
