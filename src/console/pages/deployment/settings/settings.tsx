import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { pathTo } from "../../state/path.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { Time } from "../../ui/values.tsx";

export function Settings({ deployment }: { deployment: Deployment }) {
  const mayWrite = useMay("write");
  const mayDelete = useMay("delete");
  return (
    <div className="stack max-w-[850px]">
      <BuildSettings deployment={deployment} mayWrite={mayWrite} />
      <Secrets deployment={deployment} />
      {mayDelete && <DeleteDeployment deployment={deployment} />}
    </div>
  );
}

type BuildProps = { deployment: Deployment; mayWrite: boolean };

function BuildSettings({ deployment, mayWrite }: BuildProps) {
  const { build_on_push } = deployment.source_config;
  const { repo_ref, langgraph_config_path } = deployment.source_revision_config;
  const toast = useToast();
  const change = useApiChange<boolean, Deployment>({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment.id}`,
    body: (value) => ({ source_config: { build_on_push: value } }),
    invalidates: ["/v2/deployments"],
  });
  return (
    <Panel title="Build">
      <div className="in-p grid gap-3">
        <dl className="kv">
          <dt>Ref</dt>
          <dd className="mono">{repo_ref ?? "default branch"}</dd>
          <dt>Configuration</dt>
          <dd className="mono">{langgraph_config_path ?? "langgraph.json"}</dd>
        </dl>
        <label className="check">
          <input
            type="checkbox"
            checked={build_on_push}
            disabled={!mayWrite || change.isPending}
            onChange={(event) =>
              change.mutate(event.target.checked, {
                onSuccess: ({ source_config }) =>
                  toast(
                    source_config.build_on_push
                      ? "A push builds a revision"
                      : "A push builds nothing",
                  ),
              })
            }
          />
          <span>Build on push: a push to the branch creates a revision</span>
        </label>
        {change.error && <ErrorState what="The setting was not changed" error={change.error} />}
      </div>
    </Panel>
  );
}

/** Names only: the service never returns a value. */
function Secrets({ deployment: { secrets } }: { deployment: Deployment }) {
  return (
    <Panel
      title="Secrets"
      footer="Values are write-only. A new revision can replace the whole set."
    >
      {secrets.length === 0 ? (
        <p className="in-p dim">The agents have no environment variables of their deployment.</p>
      ) : (
        <ul>
          {secrets.map(({ name, updated_at }) => (
            <li key={name} className="row in-p border-b border-line-soft">
              <code className="break-all">{name}</code>
              <span className="push dim sm">
                changed <Time at={updated_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function DeleteDeployment({ deployment: { id, name } }: { deployment: Deployment }) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: apiPath`/v2/deployments/${id}`,
    invalidates: ["/v2/deployments"],
  });
  const open = (event: FormEvent) => {
    event.preventDefault();
    setOpen(true);
  };
  return (
    <Panel title="Delete">
      <form className="in-p row wrap" onSubmit={open}>
        <span className="mid grow">The agent, its threads, store and crons. Traces stay.</span>
        <button type="submit" className="btn danger">
          <Icon name="trash" /> Delete deployment
        </button>
      </form>
      {isOpen && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          act="Delete deployment"
          keep="Keep it"
          isDestructive
          typed={name}
          onAct={async () => {
            await mutateAsync();
            await navigate({ to: pathTo(workspace, "/deployments") });
          }}
          onClose={() => setOpen(false)}
        >
          Requests to it fail at once. Its threads, store, crons and assistants are deleted. This
          cannot be undone.
        </ConfirmDialog>
      )}
    </Panel>
  );
}
