import type { FormEvent } from "react";
import type { Provider } from "../../../control-plane/oauth/provider-schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Optional } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { PROVIDERS } from "./paths.ts";

export function NewProvider({ onClose }: { onClose: () => void }) {
  const toast = useToast();
  const create = useApiChange<object, Provider>({
    path: PROVIDERS,
    body: (request) => request,
    invalidates: [PROVIDERS],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(toRequest(new FormData(event.currentTarget)), {
      onSuccess: ({ name }) => {
        toast(`Created ${name}`);
        onClose();
      },
    });
  };
  return (
    <Dialog title="New OAuth provider" onClose={onClose} wide>
      <form onSubmit={submit}>
        <div className="bd grid gap-3 md:grid-cols-2">
          <Field label="Name" name="name" required maxLength={200} autoFocus />
          <Field
            label="Id"
            name="provider_id"
            required
            className="mono"
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,127}"
            placeholder="github-prod"
          />
          <Field label="Client id" name="client_id" required className="mono" />
          <Field
            label={<Optional>Client secret</Optional>}
            name="client_secret"
            type="password"
            autoComplete="new-password"
            className="mono"
          >
            Encrypted here and never shown again.
          </Field>
          <Field label="Authorization URL" name="auth_url" type="url" required className="mono" />
          <Field label="Token URL" name="token_url" type="url" required className="mono" />
          <label className="check">
            <input type="checkbox" name="uses_pkce" defaultChecked />
            <span>Use PKCE</span>
          </label>
        </div>
        {create.error && (
          <div className="bd">
            <ErrorState what="The provider was not created" error={create.error} />
          </div>
        )}
        <FormFooter
          act="Create provider"
          busy="Creating"
          isBusy={create.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

/** A client without a secret is a public one. */
function toRequest(form: FormData) {
  const { client_secret, ...fields } = Object.fromEntries(form);
  return {
    ...fields,
    uses_pkce: form.get("uses_pkce") !== null,
    ...(client_secret ? { client_secret } : { token_endpoint_auth_method: "none" }),
  };
}
