import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Deployment } from "../../../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { pathTo } from "../../../state/path.ts";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { BuildSettings } from "./build-settings.tsx";
import { Secrets } from "./secrets.tsx";

export function Settings({ deployment }: { deployment: Deployment }) {
  const mayWrite = useMay("write");
  const mayDelete = useMay("delete");
  return (
    <div className="stack max-w-[850px]">
      <BuildSettings deployment={deployment} mayWrite={mayWrite} />
      <Secrets deployment={deployment} mayWrite={mayWrite} />
      {mayDelete && <DeleteDeployment deployment={deployment} />}
    </div>
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
