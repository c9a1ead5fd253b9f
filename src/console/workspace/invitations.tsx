import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type {
  Invitation,
  InvitationList,
} from "../../control-plane/workspaces/invitations/invitation-schema.ts";
import { useApiChange, useApiQuery } from "../api/hooks.ts";
import { apiPath, under } from "../api/path.ts";
import { meQuery, useMe } from "../api/session.ts";
import { InlineError } from "../ui/blocks/inline-error.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Panel } from "../ui/panel.tsx";
import { useToast } from "../ui/toasts.tsx";
import { Time } from "../ui/values.tsx";

const INVITATIONS = apiPath`/v1/invitations`;

/** Lists invitations of the person. Draws nothing without any, and for sessions of keys. */
export function Invitations() {
  const isPerson = useMe().actor.type === "user";
  const query = useApiQuery<InvitationList>(isPerson ? INVITATIONS : null);
  const { invitations = [] } = query.data ?? {};
  if (invitations.length === 0) return null;
  return (
    <Panel title="Invitations">
      <ul aria-label="Invitations">
        {invitations.map((invitation) => (
          <OneInvitation key={invitation.id} invitation={invitation} />
        ))}
      </ul>
    </Panel>
  );
}

function OneInvitation({ invitation }: { invitation: Invitation }) {
  const { id, organization, workspaces, created_at } = invitation;
  const one = under(INVITATIONS)`/${id}`;
  const client = useQueryClient();
  const toast = useToast();
  const accept = useApiChange({ path: under(one)`/accept`, invalidates: [INVITATIONS] });
  const decline = useApiChange({ method: "DELETE", path: one, invalidates: [INVITATIONS] });
  const isBusy = accept.isPending || decline.isPending;
  const onAccepted = () => {
    toast(`You are a member of ${organization.name}`);
    void client.invalidateQueries({ queryKey: meQuery.queryKey });
  };
  return (
    <li className="in-p border-b border-line-soft row wrap">
      <span className="m break-words">{organization.name}</span>
      <span className="dim sm">
        {workspaces.map(({ name, role }) => `${name} as ${role}`).join(", ")}
      </span>
      <span className="dim sm">
        <Time at={created_at} />
      </span>
      <span className="push row">
        <button
          type="button"
          className="btn sm"
          disabled={isBusy}
          onClick={() => decline.mutate(undefined, { onSuccess: () => toast("Declined") })}
        >
          Decline
        </button>
        <button
          type="button"
          className="btn sm pri"
          disabled={isBusy}
          onClick={() => accept.mutate(undefined, { onSuccess: onAccepted })}
        >
          Accept
        </button>
      </span>
      <InlineError error={accept.error ?? decline.error} />
    </li>
  );
}

type Organization = { id: string; name: string };

/** Lists the organizations of a person, who may leave each. */
export function Organizations() {
  const { actor, organizations } = useMe();
  if (actor.type !== "user") return null;
  return (
    <Panel title="Your organizations">
      <ul aria-label="Your organizations">
        {organizations.map((organization) => (
          <li key={organization.id} className="in-p border-b border-line-soft row wrap">
            <span className="m break-words">{organization.name}</span>
            <span className="push">
              <Leave organization={organization} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Leave({ organization: { id, name } }: { organization: Organization }) {
  const [isOpen, setOpen] = useState(false);
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: apiPath`/v1/me/organizations/${id}`,
  });
  return (
    <>
      <button type="button" className="btn sm ghost" onClick={() => setOpen(true)}>
        Leave
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Leave ${name}?`}
          act="Leave organization"
          keep="Stay"
          isDestructive
          typed={name}
          onAct={() => mutateAsync().then(() => location.assign("/console"))}
          onClose={() => setOpen(false)}
        >
          Your memberships and personal keys in it end within 10 s. An admin can invite you again.
        </ConfirmDialog>
      )}
    </>
  );
}
