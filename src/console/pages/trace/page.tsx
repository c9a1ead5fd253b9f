import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { TopBar } from "../../shell/top-bar.tsx";
import { lastListOf, neighboursOf } from "../../traces/last-list.ts";
import { isRunning, useTrace } from "../../traces/use-trace.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatNumber, shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { TraceView } from "./trace-view.tsx";

const route = getRouteApi("/w/$workspace/traces/$trace");

/** Links to the list of traces as it was left, when that is of the same project, else to the project. */
const listOf = (project: string | null | undefined) => ({
  label: "Traces",
  path: "/traces",
  search: lastListOf(project ?? undefined),
});

export function TracePage() {
  const { trace } = route.useParams();
  return <Trace key={trace} id={trace} />;
}

function Trace({ id }: { id: string }) {
  const [isPaused, setPaused] = useState(false);
  const [count, setCount] = useState(0);
  const query = useTrace(id, { isPaused, onRead: setCount });
  const runs = query.data !== undefined && isRunning(query.data);
  return (
    <>
      <TopBar above={[listOf(query.data?.end.project_id)]} title={shortId(id)}>
        {runs && (
          <>
            <LivePill
              state={isPaused ? "paused" : liveStateOf(query)}
              title="New and changed spans are read every 2 s while this page is visible"
            />
            <button type="button" className="btn sm" onClick={() => setPaused(!isPaused)}>
              {isPaused ? "Follow" : "Pause"}
            </button>
          </>
        )}
        <Neighbours id={id} />
        <CopyButton text={id} label="Copy the id of the trace" />
      </TopBar>
      {query.data === undefined && <h1 className="sr">Trace</h1>}
      {query.data === undefined && count > 0 && (
        <p className="dim" role="status">
          {formatNumber(count)} spans read
        </p>
      )}
      <QueryState query={query} what="The trace could not be read">
        {(data) =>
          data.spans.length === 0 ? (
            <Empty title="The trace has no spans">
              They were deleted, or have not arrived yet.
            </Empty>
          ) : (
            <TraceView id={id} data={data} />
          )
        }
      </QueryState>
    </>
  );
}

/** Links to the traces before and after this one in the list that was shown last. */
function Neighbours({ id }: { id: string }) {
  const { before, after } = neighboursOf(id);
  return (
    <>
      {before && <NeighbourLink id={before} label="Previous trace" className="rotate-180" />}
      {after && <NeighbourLink id={after} label="Next trace" className="" />}
    </>
  );
}

function NeighbourLink({ id, label, className }: { id: string; label: string; className: string }) {
  return (
    <route.Link
      to="/w/$workspace/traces/$trace"
      params={(former) => ({ ...former, trace: id })}
      search={{}}
      className="btn ghost icon sm"
      aria-label={label}
      title={label}
    >
      <Icon name="chevron" small className={className} />
    </route.Link>
  );
}
