import type { FormEvent } from "react";
import type { WorkspaceMember } from "../../../../control-plane/workspaces/members/member-schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, SelectField } from "../../../ui/form/field.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { ErrorState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { MEMBER_ROLES, MEMBERS } from "./member-actions.tsx";

export function AddMember({ onClose }: { onClose: () => void }) {
  const toast = useToast();
  const add = useApiChange<object, WorkspaceMember>({
    path: MEMBERS,
    body: (request) => request,
    invalidates: [MEMBERS],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    add.mutate(Object.fromEntries(new FormData(event.currentTarget)), {
      onSuccess: ({ email, role }) => {
        toast(`Added ${email} as ${role}`);
        onClose();
      },
    });
  };
  return (
    <Dialog title="Add a member" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field label="Email address" name="email" type="email" required autoFocus>
            The person enters at the first sign-in with this address. A member of another workspace
            must accept the invitation.
          </Field>
          <SelectField label="Role" name="role" defaultValue="viewer">
            {MEMBER_ROLES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </SelectField>
          {add.error && <ErrorState what="The member was not added" error={add.error} />}
        </div>
        <FormFooter act="Add member" busy="Adding" isBusy={add.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
