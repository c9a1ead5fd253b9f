import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../api/hooks.ts";
import { useMay } from "../api/session.ts";
import { pathTo } from "../state/path.ts";
import { LongText } from "../ui/conversation/long-text.tsx";
import { Icon } from "../ui/icon.tsx";
import type { RunItem } from "./stream/agent.ts";
import { useTraceMetadata } from "./trace-metadata.ts";
import type { ThreadView } from "./use-thread.ts";
import type { useThreadActions } from "./use-thread-actions.ts";

type Props = {
  view: ThreadView;
  actions: ReturnType<typeof useThreadActions>;
  /** Class and message of the error. */
  failure: string;
};

/** Shows why the last run failed, with its trace, the server log of that time, and a button that runs it again. */
export function RunFailure({ view, actions, failure }: Props) {
  const run = view.inOrder.at(-1);
  return (
    <div className="note err" role="alert">
      <Icon name="status-failed" />
      <div className="grow">
        <div className="b">The run failed.</div>
        <div className="mono sm break-words">
          <LongText text={failure} max={2000} />
        </div>
        <div className="mid sm mt-1">The thread keeps the state of its last checkpoint.</div>
        {run && <NextSteps deployment={view.deployment} run={run} actions={actions} />}
      </div>
    </div>
  );
}

type StepsProps = { deployment: string; run: RunItem; actions: Props["actions"] };

function NextSteps({ deployment, run, actions: { start } }: StepsProps) {
  const { run_id, assistant_id, updated_at } = run;
  const workspace = useWorkspaceId();
  const mayWrite = useMay("write");
  const { revision_id } = useTraceMetadata(run_id) ?? {};
  const rev = typeof revision_id === "string" ? revision_id : undefined;
  const page = pathTo(workspace, `/deployments/${deployment.split("@")[0]}`);
  return (
    <span className="row wrap mt-2">
      <Link className="btn sm" to={pathTo(workspace, `/traces/${run_id}`)}>
        Trace
      </Link>
      <Link className="btn sm" to={page} search={{ rev, log: "server", at: updated_at }}>
        Server log
      </Link>
      {mayWrite && (
        <button
          type="button"
          className="btn sm"
          disabled={start.isPending}
          onClick={() => start.mutate({ assistant_id, input: null })}
        >
          Run again from the last checkpoint
        </button>
      )}
    </span>
  );
}
