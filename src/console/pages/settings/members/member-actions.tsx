import { useState } from "react";
import type { WorkspaceMember } from "../../../../control-plane/workspaces/members/member-schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath, under } from "../../../api/path.ts";
import { InlineError } from "../../../ui/blocks/inline-error.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { AppliedSelect } from "../../../ui/form/applied-select.tsx";
import { useToast } from "../../../ui/toasts.tsx";

export const MEMBERS = apiPath`/api/v1/workspaces/current/members`;
export const MEMBER_ROLES = ["viewer", "editor", "admin"] as const;

type Props = { member: WorkspaceMember };

/**
 * Changes the role of a member. Shows the new role after the service has confirmed it, and a refusal beside the old
 * one.
 */
export function MemberRole({ member: { id, email, role } }: Props) {
  const toast = useToast();
  const change = useApiChange<string>({
    method: "PATCH",
    path: under(MEMBERS)`/${id}`,
    body: (wanted) => ({ role: wanted }),
    invalidates: [MEMBERS],
  });
  return (
    <span className="row">
      <AppliedSelect
        label={`Role of ${email}`}
        value={role}
        isPending={change.isPending}
        onApply={(wanted) =>
          change.mutate(wanted, { onSuccess: () => toast(`${email} is ${wanted}`) })
        }
      >
        {MEMBER_ROLES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </AppliedSelect>
      <InlineError error={change.error} />
    </span>
  );
}

export function RemoveMember({ member: { id, email } }: Props) {
  const [isOpen, setOpen] = useState(false);
  const toast = useToast();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(MEMBERS)`/${id}`,
    invalidates: [MEMBERS],
  });
  return (
    <>
      <button type="button" className="btn sm ghost" onClick={() => setOpen(true)}>
        Remove
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Remove ${email}?`}
          act="Remove member"
          keep="Keep the member"
          isDestructive
          onAct={() => mutateAsync().then(() => toast(`Removed ${email}`))}
          onClose={() => setOpen(false)}
        >
          Requests of this person fail within 10 s, here and with personal keys. You can add the
          person again.
        </ConfirmDialog>
      )}
    </>
  );
}
