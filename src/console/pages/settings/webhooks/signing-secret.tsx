import { useState } from "react";
import type { z } from "zod";
import type { SecretSet, SecretState } from "../../../../agent-server/webhooks/schema.ts";
import { useApiChange, useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { ShownOnce } from "../../../ui/blocks/shown-once.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Time } from "../../../ui/values.tsx";

const PATH = apiPath`/v1/run-webhooks/secret`;

/** Sets and deletes the secret that signs webhooks. The secret is shown once, when the service has generated it. */
export function SigningSecret() {
  const isAdmin = useMay("admin");
  const query = useApiQuery<z.infer<typeof SecretState>>(PATH);
  const [secret, setSecret] = useState<string | null>(null);
  const [open, setOpen] = useState<"set" | "delete" | null>(null);
  return (
    <>
      {secret !== null && (
        <ShownOnce
          title="The signing secret is set."
          secret={secret}
          label="Copy secret"
          onClose={() => setSecret(null)}
        />
      )}
      <QueryState query={query} what="The signing secret could not be read" rows={1}>
        {({ is_set, updated_at, previous_valid_until }) => (
          <Panel
            title="Signing secret"
            end={
              isAdmin && (
                <>
                  <button type="button" className="btn sm" onClick={() => setOpen("set")}>
                    {is_set ? "Replace secret" : "Create secret"}
                  </button>
                  {is_set && (
                    <button
                      type="button"
                      className="btn sm ghost"
                      onClick={() => setOpen("delete")}
                    >
                      Delete secret
                    </button>
                  )}
                </>
              )
            }
          >
            <p className="in-p mid">
              {is_set ? "Deliveries are signed. Set " : "Deliveries are not signed."}
              <Time at={updated_at} />
              {previous_valid_until !== null && (
                <>
                  . The previous secret signs too until <Time at={previous_valid_until} exact />.
                </>
              )}
            </p>
          </Panel>
        )}
      </QueryState>
      {open === "set" && (
        <SetSecret isNew={!query.data?.is_set} onSecret={setSecret} onClose={() => setOpen(null)} />
      )}
      {open === "delete" && <DeleteSecret onClose={() => setOpen(null)} />}
    </>
  );
}

type SetProps = {
  isNew: boolean;
  onSecret: (secret: string | null) => void;
  onClose: () => void;
};

function SetSecret({ isNew, onSecret, onClose }: SetProps) {
  const { mutateAsync } = useApiChange<void, z.infer<typeof SecretSet>>({
    method: "PUT",
    path: PATH,
    body: () => ({}),
    invalidates: [PATH],
  });
  return (
    <ConfirmDialog
      title={isNew ? "Create a signing secret?" : "Replace the signing secret?"}
      act={isNew ? "Create secret" : "Replace secret"}
      keep="Keep it as it is"
      onAct={() => mutateAsync().then(({ secret }) => onSecret(secret))}
      onClose={onClose}
    >
      Deliveries are signed with it from now on, in each deployment of the workspace.
      {!isNew && " The previous secret signs too for one day."}
    </ConfirmDialog>
  );
}

function DeleteSecret({ onClose }: { onClose: () => void }) {
  const { mutateAsync } = useApiChange({ method: "DELETE", path: PATH, invalidates: [PATH] });
  return (
    <ConfirmDialog
      title="Delete the signing secret?"
      act="Delete secret"
      keep="Keep it"
      isDestructive
      onAct={() => mutateAsync()}
      onClose={onClose}
    >
      Deliveries are no longer signed, and receivers that check the signature refuse them.
    </ConfirmDialog>
  );
}
