import { Link } from "@tanstack/react-router";
import type { Lookup } from "../../../control-plane/lookup/lookup-schema.ts";
import type { TraceSpan } from "../../../traces/live/trace-schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useTraceMetadata } from "../../runs/trace-metadata.ts";
import { pathTo } from "../../state/path.ts";
import { isId } from "../../state/search.ts";
import { firstTokenMs, kindOf, statusOf } from "../../traces/span-kind.ts";
import type { TraceTree } from "../../traces/tree.ts";
import type { TraceData } from "../../traces/use-trace.ts";
import { formatCount, formatDuration, formatTime } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Status } from "../../ui/status.tsx";
import { Cost, Quantity, Time } from "../../ui/values.tsx";
import { DeleteTrace } from "./delete-trace.tsx";
import { ShareButton } from "./share.tsx";

type Props = { id: string; data: TraceData; tree: TraceTree };

/** Shows the name and the figures of a trace, with links to its thread, revision and server log. */
export function TraceHead({ id, data: { root, end }, tree }: Props) {
  const { icon, tone } = kindOf(root?.run_type ?? "CHAIN");
  const { kind, word } = statusOf(root?.status ?? "PENDING");
  return (
    <div className="trace-head">
      <div className="row wrap grow">
        <span className={tone}>
          <Icon name={icon} />
        </span>
        <h1 tabIndex={-1} className="outline-none cut" title={root?.name}>
          {root ? root.name : "Root span not received yet"}
        </h1>
        <Status kind={kind}>{word}</Status>
        <Figures root={root} tree={tree} />
        {end.expires_at && (
          <span className="tkv" title={`Deleted from ${end.expires_at} on`}>
            kept until {formatTime(end.expires_at)}
          </span>
        )}
      </div>
      {root && <Links root_id={root.id} at={root.start_time} />}
      <CompareLink id={id} />
      {root && <ShareButton trace_id={root.id} />}
      {end.project_id && <DeleteTrace id={id} project={end.project_id} />}
    </div>
  );
}

function Figures({ root, tree }: { root: TraceSpan | null; tree: TraceTree }) {
  const failed = tree.spans.filter(({ status }) => status === "ERROR").length;
  const token = root && firstTokenMs(root);
  return (
    <>
      {root?.status === "SUCCESS" && failed > 0 && (
        <span className="err sm">{formatCount(failed, "span")} failed</span>
      )}
      {root && (
        <span className="tkv">
          <Time at={root.start_time} />
        </span>
      )}
      <span className="tkv">
        <b>{formatDuration(tree.total_ms)}</b> {root?.end_time ? "latency" : "so far"}
      </span>
      {token !== null && (
        <span className="tkv">
          <b>{formatDuration(token)}</b> first token
        </span>
      )}
      {root?.total_tokens != null && (
        <span className="tkv">
          <b>
            <Quantity value={root.total_tokens} />
          </b>{" "}
          tokens
        </span>
      )}
      {root?.total_cost != null && (
        <span className="tkv">
          <b>
            <Cost dollars={Number(root.total_cost)} />
          </b>
        </span>
      )}
    </>
  );
}

function Links({ root_id, at }: { root_id: string; at: string }) {
  const workspace = useWorkspaceId();
  const { deployment_id, revision_id, thread_id, otel_trace_id } = useTraceMetadata(root_id) ?? {};
  if (typeof deployment_id !== "string") return null;
  const deployment = pathTo(workspace, `/deployments/${encodeURIComponent(deployment_id)}`);
  const rev = typeof revision_id === "string" ? revision_id : undefined;
  return (
    <>
      {typeof thread_id === "string" && (
        <Link to={pathTo(workspace, threadPath(deployment_id, thread_id))} className="btn sm">
          <Icon name="thread" small /> Open thread
        </Link>
      )}
      {typeof otel_trace_id === "string" && <CallerLink otel_trace_id={otel_trace_id} />}
      <Link to={deployment} search={{ rev }} className="btn sm">
        <Icon name="layers" small /> Revision
      </Link>
      <Link to={deployment} search={{ rev, log: "server", at }} className="btn sm">
        <Icon name="menu" small /> Server log
      </Link>
    </>
  );
}

/** Links to the trace of the program that called the agent, when the lookup finds it in this workspace. */
function CallerLink({ otel_trace_id }: { otel_trace_id: string }) {
  const workspace = useWorkspaceId();
  const id = otel_trace_id.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const { data } = useApiQuery<Lookup>(isId(id) ? apiPath`/v1/lookup/${id}` : null);
  if (!data?.matches.some(({ kind }) => kind === "traced_run")) return null;
  return (
    <Link to={pathTo(workspace, `/traces/${id}`)} className="btn sm">
      <Icon name="up-down" small /> Caller's trace
    </Link>
  );
}

function threadPath(deployment_id: string, thread_id: string): string {
  return `/threads/${encodeURIComponent(deployment_id)}/${encodeURIComponent(thread_id)}`;
}

function CompareLink({ id }: { id: string }) {
  const workspace = useWorkspaceId();
  return (
    <Link to={pathTo(workspace, "/traces/compare")} search={{ a: id }} className="btn sm hide-m">
      <Icon name="columns" small /> Compare
    </Link>
  );
}
