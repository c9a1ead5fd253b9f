import { getRouteApi } from "@tanstack/react-router";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { MonitorTabs } from "../../alerts/monitor-tabs.tsx";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { DEFAULT_RANGE, RANGE_NAMES, type RangeName } from "../../traces/range-names.ts";
import { strideOf, toStride, windowOf } from "../../traces/time-range.ts";
import { useProject } from "../../traces/use-project.ts";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty, PageHeader } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { Charts } from "./charts-grid.tsx";
import { Filters } from "./filters.tsx";
import type { MonitorSearch, TimePart } from "./search.ts";

const route = getRouteApi("/w/$workspace/monitor");
const POLL_MS = 10_000;
const MINUTE_MS = 60_000;
const MAX_GROUPS = 5;

export function MonitorPage() {
  const { project: id, range = DEFAULT_RANGE, ...search } = route.useSearch();
  const part = partOf(search);
  const navigate = route.useNavigate();
  const change = (search: MonitorSearch) =>
    void navigate({ search: (former) => ({ ...former, ...search }), resetScroll: false });
  const { query, projects, project } = useProject(id);
  return (
    <>
      <PageHeader
        title="Monitor"
        actions={
          <fieldset className="seg" aria-label="Time range">
            {RANGE_NAMES.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={range === name && part === null}
                onClick={() => change({ range: name, from: undefined, to: undefined })}
              >
                {name.replace("h", " h").replace("d", " d")}
              </button>
            ))}
          </fieldset>
        }
      />
      <MonitorTabs />
      {project === undefined && <TopBar title="Monitor" />}
      <QueryState query={query} what="The projects could not be read">
        {() =>
          project === undefined ? (
            <Empty title={id === undefined ? "No traces yet" : "No such project"}>
              Figures appear here as soon as a project has traces.
            </Empty>
          ) : (
            <>
              <Filters projects={projects} project={project} change={change} />
              {part !== null && (
                <WholeRange
                  part={part}
                  onLeave={() => change({ from: undefined, to: undefined })}
                />
              )}
              <Figures project_id={project.id} change={change} />
            </>
          )
        }
      </QueryState>
    </>
  );
}

function WholeRange({ part: { from, to }, onLeave }: { part: TimePart; onLeave: () => void }) {
  return (
    <p className="note mb-3" role="status">
      <span className="grow">
        <Time at={from} exact /> to <Time at={to} exact />
      </span>
      <button type="button" className="btn sm" onClick={onLeave}>
        Whole range
      </button>
    </p>
  );
}

type FiguresProps = { project_id: string; change: (search: MonitorSearch) => void };

function Figures({ project_id, change }: FiguresProps) {
  const { range = DEFAULT_RANGE, group, key, runs, from, to } = route.useSearch();
  const { start, end, stride_s } = timeOf(range, { from, to });
  const path = group === "revision" ? "revision_id" : key;
  const isReady = group !== "metadata" || path !== undefined;
  const attribute = group === "revision" ? "metadata" : group;
  const query = useApiQuery<RunSeries>(apiPath`/api/v1/runs/stats`, {
    post: {
      session: [project_id],
      start_time: start,
      ...(end && { end_time: end }),
      stride: toStride(stride_s),
      ...(runs === "all" ? {} : { is_root: true }),
      ...(attribute && { group_by: { attribute, path, max_groups: MAX_GROUPS } }),
    },
    poll: end === undefined && POLL_MS,
    keepPrevious: true,
    enabled: isReady,
  });
  return (
    <>
      <TopBar title="Monitor">
        <LivePill
          state={liveStateOf(query)}
          note={end === undefined ? "every 10 s" : undefined}
          title={end === undefined ? "Read every 10 s while this page is visible" : "Read once"}
        />
      </TopBar>
      {isReady ? (
        <QueryState query={query} what="The figures could not be read">
          {(answer) => <Charts answer={answer} project_id={project_id} onZoom={change} />}
        </QueryState>
      ) : (
        <Empty title="Which metadata?">Enter the key to group by.</Empty>
      )}
    </>
  );
}

/** @returns `null` when the whole range is shown */
function partOf({ from, to }: MonitorSearch): TimePart | null {
  if (from === undefined || to === undefined) return null;
  return Date.parse(from) < Date.parse(to) ? { from, to } : null;
}

/**
 * Returns the time of the charts. A range that ends now starts at a whole minute, so that its cache entry changes once
 * a minute.
 */
function timeOf(range: RangeName, search: MonitorSearch) {
  const part = partOf(search);
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  if (part === null) return windowOf(range, now);
  const { from, to } = part;
  return { start: from, end: to, stride_s: strideOf((Date.parse(to) - Date.parse(from)) / 1000) };
}
