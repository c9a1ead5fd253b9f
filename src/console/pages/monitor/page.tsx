import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { MonitorTabs } from "../../alerts/monitor-tabs.tsx";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { RANGE_NAMES } from "../../traces/range-names.ts";
import { toStride, windowOf } from "../../traces/time-range.ts";
import { useProject } from "../../traces/use-project.ts";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty, PageHeader } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Charts } from "./charts-grid.tsx";
import { Filters } from "./filters.tsx";
import type { MonitorSearch } from "./search.ts";

const route = getRouteApi("/w/$workspace/monitor");
const POLL_MS = 10_000;
const DEFAULT_RANGE = "24h";
const MAX_GROUPS = 5;

export function MonitorPage() {
  const { project: id, range = DEFAULT_RANGE } = route.useSearch();
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
                aria-pressed={range === name}
                onClick={() => change({ range: name })}
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
              <Figures project_id={project.id} />
            </>
          )
        }
      </QueryState>
    </>
  );
}

function Figures({ project_id }: { project_id: string }) {
  const { range = DEFAULT_RANGE, group, key, runs } = route.useSearch();
  const { start, stride_s } = useMemo(() => windowOf(range, Date.now()), [range]);
  const path = group === "revision" ? "revision_id" : key;
  const isReady = group !== "metadata" || path !== undefined;
  const attribute = group === "revision" ? "metadata" : group;
  const query = useApiQuery<RunSeries>(apiPath`/api/v1/runs/stats`, {
    post: {
      session: [project_id],
      start_time: start,
      stride: toStride(stride_s),
      ...(runs === "all" ? {} : { is_root: true }),
      ...(attribute && { group_by: { attribute, path, max_groups: MAX_GROUPS } }),
    },
    poll: POLL_MS,
    keepPrevious: true,
    enabled: isReady,
  });
  return (
    <>
      <TopBar title="Monitor">
        <LivePill
          state={liveStateOf(query)}
          note="every 10 s"
          title="Read every 10 s while this page is visible"
        />
      </TopBar>
      {isReady ? (
        <QueryState query={query} what="The figures could not be read">
          {(answer) => <Charts answer={answer} project_id={project_id} />}
        </QueryState>
      ) : (
        <Empty title="Which metadata?">Enter the key to group by.</Empty>
      )}
    </>
  );
}
