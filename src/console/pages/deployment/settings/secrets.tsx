import { type FormEvent, useId, useState } from "react";
import type {
  Deployment,
  NamedSecretChange,
} from "../../../../control-plane/deployments/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { ConfirmDialog, Dialog } from "../../../ui/dialog.tsx";
import { Field } from "../../../ui/form/field.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { SecretArea } from "../../../ui/form/secret-area.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { ErrorState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { Time } from "../../../ui/values.tsx";

type Props = { deployment: Deployment; mayWrite: boolean };
/** The open dialog. The name is "" for a new secret. */
type Open = { act: "set" | "remove"; name: string };

/** Lists the names of secrets: the service never returns a value. */
export function Secrets({ deployment, mayWrite }: Props) {
  const [open, setOpen] = useState<Open | null>(null);
  const onClose = () => setOpen(null);
  return (
    <Panel
      title="Secrets"
      end={
        mayWrite && (
          <button
            type="button"
            className="btn sm"
            onClick={() => setOpen({ act: "set", name: "" })}
          >
            <Icon name="plus" small /> Add a secret
          </button>
        )
      }
      footer="Values are write-only. A change serves in a new revision, without a build."
    >
      {deployment.secrets.length === 0 ? (
        <p className="in-p dim">The agents have no environment variables of their deployment.</p>
      ) : (
        <SecretList deployment={deployment} onOpen={mayWrite ? setOpen : undefined} />
      )}
      {open?.act === "set" && (
        <SecretDialog deployment={deployment} name={open.name} onClose={onClose} />
      )}
      {open?.act === "remove" && (
        <RemoveSecret deployment={deployment} name={open.name} onClose={onClose} />
      )}
    </Panel>
  );
}

type ListProps = { deployment: Deployment; onOpen: ((open: Open) => void) | undefined };

function SecretList({ deployment: { secrets }, onOpen }: ListProps) {
  return (
    <ul aria-label="Secrets">
      {secrets.map(({ name, updated_at }) => (
        <li key={name} className="row wrap in-p border-b border-line-soft">
          <code className="break-all">{name}</code>
          <span className="push dim sm">
            changed <Time at={updated_at} />
          </span>
          {onOpen && (
            <span className="row">
              <button
                type="button"
                className="btn sm"
                aria-label={`Replace ${name}`}
                onClick={() => onOpen({ act: "set", name })}
              >
                Replace
              </button>
              <button
                type="button"
                className="btn sm ghost icon"
                aria-label={`Remove ${name}`}
                onClick={() => onOpen({ act: "remove", name })}
              >
                <Icon name="trash" small />
              </button>
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

type DialogProps = { deployment: Deployment; name: string; onClose: () => void };

function SecretDialog({ deployment, name, onClose }: DialogProps) {
  const change = useSecretChange(deployment.id);
  const toast = useToast();
  const valueField = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given = { name: String(form.get("name")).trim(), value: String(form.get("value")) };
    change.mutate(given, {
      onSuccess: () => {
        toast(`${given.name} is set`);
        onClose();
      },
    });
  };
  return (
    <Dialog title={name === "" ? "Add a secret" : `Replace ${name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field
            label="Name"
            name="name"
            className="mono"
            defaultValue={name}
            readOnly={name !== ""}
            autoFocus={name === ""}
            required
            placeholder="OPENAI_API_KEY"
          >
            The agents read it as an environment variable.
          </Field>
          <div className="field">
            <label htmlFor={valueField}>Value</label>
            <SecretArea
              id={valueField}
              name="value"
              aria-describedby={`${valueField}-hint`}
              autoFocus={name !== ""}
              required
            />
            <p className="hint" id={`${valueField}-hint`}>
              Encrypted here and never shown again. Lines of a key are kept.
            </p>
          </div>
          {change.error && <ErrorState what="The secret was not set" error={change.error} />}
        </div>
        <FormFooter act="Set secret" busy="Setting" isBusy={change.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function RemoveSecret({ deployment, name, onClose }: DialogProps) {
  const { mutateAsync } = useSecretChange(deployment.id);
  return (
    <ConfirmDialog
      title={`Remove ${name} from ${deployment.name}?`}
      act="Remove secret"
      keep="Keep it"
      isDestructive
      onAct={() => mutateAsync({ name, value: null })}
      onClose={onClose}
    >
      The next runs do not have it. Its value cannot be read back.
    </ConfirmDialog>
  );
}

function useSecretChange(deployment_id: string) {
  return useApiChange<NamedSecretChange, Deployment>({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment_id}`,
    body: (change) => ({ secret_changes: [change] }),
    invalidates: ["/v2/deployments"],
  });
}
