import type { FormEvent } from "react";
import type { Destination } from "../../exports/destination-schema.ts";
import { useApiChange } from "../api/hooks.ts";
import { under } from "../api/path.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/form/field.tsx";
import { ErrorState } from "../ui/states.tsx";
import { useToast } from "../ui/toasts.tsx";
import { DESTINATIONS } from "./names.ts";

type Props = { destination: Destination; onClose: () => void };

/** Replaces the credentials of a destination. The service probes the new ones first. */
export function RotateCredentials({ destination: { id, display_name }, onClose }: Props) {
  const toast = useToast();
  const change = useApiChange<object>({
    method: "PATCH",
    path: under(DESTINATIONS)`/${id}`,
    body: (credentials) => ({ credentials }),
    invalidates: [DESTINATIONS],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    change.mutate(Object.fromEntries(new FormData(event.currentTarget)), {
      onSuccess: () => {
        toast(`${display_name} has new credentials`);
        onClose();
      },
    });
  };
  return (
    <Dialog title={`Replace the credentials of ${display_name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field label="Access key id" name="access_key_id" className="mono" required autoFocus />
          <Field
            label="Secret access key"
            name="secret_access_key"
            className="mono"
            type="password"
            autoComplete="new-password"
            required
          >
            Encrypted here and never shown again. A probe object is written with them first.
          </Field>
          {change.error && (
            <ErrorState what="The credentials were not replaced" error={change.error} />
          )}
        </div>
        <footer>
          <button type="button" className="btn" onClick={onClose}>
            Keep the old ones
          </button>
          <button type="submit" className="btn pri" disabled={change.isPending}>
            {change.isPending ? "Probing" : "Replace"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
