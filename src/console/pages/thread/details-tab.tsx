import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange, useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { agentPath, threadPath } from "../../runs/stream/agent.ts";
import { tracesOfThread, useTraceMetadata } from "../../runs/trace-metadata.ts";
import type { ThreadView } from "../../runs/use-thread.ts";
import { pathTo } from "../../state/path.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Time } from "../../ui/values.tsx";

type Props = { view: ThreadView; thread_id: string; mayDelete: boolean };

export function DetailsTab({ view, thread_id, mayDelete }: Props) {
  const { deployment, thread } = view;
  const { created_at, updated_at, metadata = {}, config = {} } = thread.data ?? {};
  return (
    <div className="in-p grid gap-3">
      <dl className="kv">
        <dt>Thread</dt>
        <dd className="row">
          <code className="break-all">{thread_id}</code>
          <CopyButton text={thread_id} label="Copy the thread's id" />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={created_at ?? null} exact />
        </dd>
        <dt>Changed</dt>
        <dd>
          <Time at={updated_at ?? null} exact />
        </dd>
        <dt>Agent</dt>
        <dd>
          <AgentLinks view={view} thread_id={thread_id} />
        </dd>
      </dl>
      <section aria-label="Metadata" className="min-w-0">
        <JsonView label="Metadata" value={metadata} />
      </section>
      <section aria-label="Configuration" className="min-w-0">
        <JsonView label="Configuration of the last run" value={config} />
      </section>
      {mayDelete && <DeleteThread deployment={deployment} thread_id={thread_id} />}
    </div>
  );
}

/** Links to the revision of the last run, the log of that time and the traces of the thread. */
function AgentLinks({ view, thread_id }: Omit<Props, "mayDelete">) {
  const workspace = useWorkspaceId();
  // A revision may follow after the "@".
  const [id = ""] = view.deployment.split("@");
  const last = view.inOrder.at(-1);
  const { data: deployment } = useApiQuery<Deployment>(apiPath`/v2/deployments/${id}`);
  const { revision_id } = useTraceMetadata(last?.run_id) ?? {};
  const page = pathTo(workspace, `/deployments/${id}`);
  const rev = typeof revision_id === "string" ? revision_id : undefined;
  const project = deployment?.tracing_project_id;
  return (
    <span className="row wrap">
      <Link to={page}>Deployment</Link>
      {rev && (
        <Link to={page} search={{ rev }}>
          Revision
        </Link>
      )}
      <Link
        to={page}
        search={{ rev, log: "server", ...(last ? { at: last.created_at } : { range: "1h" }) }}
      >
        Server log
      </Link>
      {project && (
        <Link to={pathTo(workspace, "/traces")} search={tracesOfThread(project, thread_id)}>
          Traces
        </Link>
      )}
    </span>
  );
}

function DeleteThread({ deployment, thread_id }: { deployment: string; thread_id: string }) {
  const [isOpen, setOpen] = useState(false);
  const workspace = useWorkspaceId();
  const navigate = useNavigate();
  const client = useQueryClient();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: threadPath(deployment, thread_id)``,
  });
  return (
    <div>
      <button type="button" className="btn danger" onClick={() => setOpen(true)}>
        <Icon name="trash" /> Delete thread
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Delete thread ${shortId(thread_id)}?`}
          act="Delete thread"
          keep="Keep it"
          isDestructive
          onAct={async () => {
            await mutateAsync();
            // A list that was read before would show the thread again.
            const path = agentPath(deployment)`/threads/search`;
            client.removeQueries({ queryKey: [workspace, path] });
            await navigate({ to: pathTo(workspace, "/threads"), search: { deployment } });
          }}
          onClose={() => setOpen(false)}
        >
          Its runs, checkpoints and events are deleted at once. Traces stay until their retention
          ends. This cannot be undone.
        </ConfirmDialog>
      )}
    </div>
  );
}
