import type { FormEvent } from "react";
import type { Provider } from "../../../control-plane/oauth/provider-schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Optional } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { PROVIDERS } from "./paths.ts";

type Props = {
  /** The provider to edit, absent for a new one. */
  provider?: Provider;
  onClose: () => void;
};

export function ProviderForm({ provider, onClose }: Props) {
  const toast = useToast();
  const save = useApiChange<object, Provider>({
    method: provider ? "PATCH" : "POST",
    path: provider ? under(PROVIDERS)`/${provider.provider_id}` : PROVIDERS,
    body: (request) => request,
    invalidates: [PROVIDERS],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(toRequest(new FormData(event.currentTarget), provider), {
      onSuccess: ({ name }) => {
        toast(`${provider ? "Saved" : "Created"} ${name}`);
        onClose();
      },
    });
  };
  return (
    <Dialog
      title={provider ? `Edit ${provider.name}` : "New OAuth provider"}
      onClose={onClose}
      wide
    >
      <form onSubmit={submit}>
        <div className="bd grid gap-3 md:grid-cols-2">
          <ProviderFields provider={provider} />
        </div>
        {save.error && (
          <div className="bd">
            <ErrorState what="The provider was not saved" error={save.error} />
          </div>
        )}
        <FormFooter
          act={provider ? "Save provider" : "Create provider"}
          busy="Saving"
          isBusy={save.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

function ProviderFields({ provider }: { provider: Provider | undefined }) {
  return (
    <>
      <Field
        label="Name"
        name="name"
        required
        maxLength={200}
        autoFocus
        defaultValue={provider?.name}
      />
      {!provider && (
        <Field
          label="Id"
          name="provider_id"
          required
          className="mono"
          pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,127}"
          placeholder="github-prod"
        />
      )}
      <Field
        label="Client id"
        name="client_id"
        required
        className="mono"
        defaultValue={provider?.client_id}
      />
      <Field
        label={<Optional>{provider ? "New client secret" : "Client secret"}</Optional>}
        name="client_secret"
        type="password"
        autoComplete="new-password"
        className="mono"
      >
        {provider && "Empty keeps the present one. "}Encrypted here and never shown again.
      </Field>
      <Endpoints provider={provider} />
      <label className="check">
        <input type="checkbox" name="uses_pkce" defaultChecked={provider?.uses_pkce ?? true} />
        <span>Use PKCE</span>
      </label>
    </>
  );
}

function Endpoints({ provider }: { provider: Provider | undefined }) {
  return (
    <>
      <Field
        label="Authorization URL"
        name="auth_url"
        type="url"
        required
        className="mono"
        defaultValue={provider?.auth_url}
      />
      <Field
        label="Token URL"
        name="token_url"
        type="url"
        required
        className="mono"
        defaultValue={provider?.token_url}
      />
    </>
  );
}

/**
 * Returns the request. A new provider without a secret gets a public client. A public client that gets a secret sends
 * it from then on.
 */
function toRequest(form: FormData, provider: Provider | undefined) {
  const { client_secret, ...fields } = Object.fromEntries(form);
  const isPublic = provider?.token_endpoint_auth_method === "none";
  return {
    ...fields,
    uses_pkce: form.get("uses_pkce") !== null,
    ...(client_secret && { client_secret }),
    ...(client_secret && isPublic && { token_endpoint_auth_method: "client_secret_post" }),
    ...(!client_secret && !provider && { token_endpoint_auth_method: "none" }),
  };
}
