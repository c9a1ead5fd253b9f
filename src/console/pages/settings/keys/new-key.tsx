import { type FormEvent, useId } from "react";
import type { ApiKeyWithSecret } from "../../../../control-plane/workspaces/keys/key-schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import type { ApiPath } from "../../../api/path.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, Optional, SelectField } from "../../../ui/form/field.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { ErrorState } from "../../../ui/states.tsx";
import { KEYS, type NewSecret } from "./key-paths.ts";

type Props = { path: ApiPath; onMade: (made: NewSecret) => void; onClose: () => void };

const DAY_MS = 24 * 60 * 60 * 1000;

export function NewKey({ path, onMade, onClose }: Props) {
  const form = useId();
  const isService = path === KEYS;
  const create = useApiChange<object, ApiKeyWithSecret>({
    path,
    body: (request) => request,
    invalidates: [KEYS],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const request = toRequest(new FormData(event.currentTarget), isService);
    // Is called also when the dialog was closed, unlike `onSuccess`: only this response has the secret.
    const onCreated = ({ description, key }: ApiKeyWithSecret) => {
      onMade({ title: `Key “${description}” is created.`, secret: key });
      onClose();
    };
    void create.mutateAsync(request).then(onCreated, () => {});
  };
  return (
    <Dialog title={isService ? "New service key" : "New personal key"} onClose={onClose}>
      <form id={form} onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field label="Name" name="description" required maxLength={200} autoFocus>
            What the key is for.
          </Field>
          {isService && (
            <SelectField label="Role" name="role" defaultValue="viewer">
              <option value="viewer">viewer: reads</option>
              <option value="editor">editor: reads and changes</option>
              <option value="admin">admin: all, also keys and members</option>
            </SelectField>
          )}
          <Field
            label={<Optional>Days until it expires</Optional>}
            name="days"
            type="number"
            min={1}
            max={3650}
          >
            Empty for never.
          </Field>
          {create.error && <ErrorState what="The key was not created" error={create.error} />}
        </div>
        <FormFooter act="Create key" busy="Creating" isBusy={create.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function toRequest(form: FormData, isService: boolean) {
  const days = Number(form.get("days"));
  return {
    description: form.get("description"),
    ...(isService && { role: form.get("role") }),
    ...(days > 0 && { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
  };
}
