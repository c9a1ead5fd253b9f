import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo } from "react";
import type { Project } from "../../../traces/projects/schema.ts";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import type { KnownValues } from "../../traces/completion.ts";
import { addCondition, hasCondition } from "../../traces/filter-edit.ts";
import { keepList } from "../../traces/last-list.ts";
import { ProjectOptions } from "../../traces/project-options.tsx";
import { DEFAULT_RANGE, type RangeName } from "../../traces/range-names.ts";
import type { TracesSearch } from "../../traces/search.ts";
import { choiceOf, type TimeWindow, toStride, windowOf } from "../../traces/time-range.ts";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState, QueryState } from "../../ui/states.tsx";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Figures, Histogram, TOTALS, type Totals } from "./histogram/histogram.tsx";
import { TraceList } from "./list/trace-list.tsx";
import type { ListQuery } from "./list/use-trace-list.ts";
import { TimeChoice } from "./time-choice.tsx";
import { type FacetChoice, useFacets } from "./use-facets.ts";
import { SavedViews } from "./views/saved-views.tsx";

const route = getRouteApi("/w/$workspace/traces");
const POLL_MS = 10_000;
const MINUTE_MS = 60_000;

type Props = { project: Project; projects: Project[] };
type Change = (search: TracesSearch) => void;

export function TraceSearchView({ project, projects }: Props) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback<Change>(
    (next) => void navigate({ search: (former) => ({ ...former, ...next }), resetScroll: false }),
    [navigate],
  );
  useEffect(() => keepList({ ...search, project: project.id }), [search, project.id]);
  const { range = DEFAULT_RANGE, from, to, q, runs } = search;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the time at which a range was chosen
  const chosen_at = useMemo(() => Date.now(), [range, from, to]);
  const window = windowOf(range, chosen_at, { from, to });
  const list: ListQuery = {
    project: project.id,
    filter: q,
    is_root: runs === "all" ? undefined : true,
    start_time: from ?? window.start,
    end_time: to,
  };
  const { project: id, ...rest } = list;
  const body = { ...rest, session: [id] };
  const { facets, known } = useFacets(body);
  return (
    <>
      <div className="trace-query">
        <QueryRow {...{ project, projects, search, known, change, range, window }} />
        <Facets facets={facets} filter={q ?? ""} change={change} />
        <Chart {...{ range, chosen_at, body, search, change }} />
      </div>
      <TraceList query={list} projects={projects} pick={search.pick} change={change} />
    </>
  );
}

type RowProps = Props & {
  search: TracesSearch;
  known: KnownValues;
  range: RangeName;
  window: TimeWindow;
  change: Change;
};

function QueryRow({ project, projects, search, known, change, ...time }: RowProps) {
  return (
    <div className="trace-query-row">
      <select
        className="in auto"
        aria-label="Project"
        value={project.id}
        onChange={(event) => change({ project: event.target.value, pick: undefined })}
      >
        <ProjectOptions projects={projects} />
      </select>
      <FilterBar
        value={search.q ?? ""}
        known={known}
        onApply={(filter) => change({ q: filter || undefined })}
      />
      <TimeChoice {...time} {...{ search, change }} />
      <select
        className="in auto"
        aria-label="Runs"
        value={search.runs ?? "root"}
        onChange={(event) => change({ runs: event.target.value === "all" ? "all" : undefined })}
      >
        <option value="root">Root runs</option>
        <option value="all">All runs</option>
      </select>
      <SavedViews />
    </div>
  );
}

type FacetsProps = { facets: FacetChoice[]; filter: string; change: Change };

function Facets({ facets, filter, change }: FacetsProps) {
  const offered = facets.filter(({ query }) => !hasCondition(filter.trim(), query));
  if (offered.length === 0) return <div className="facets" />;
  return (
    <div className="facets">
      {offered.map(({ label, query, count }) => (
        <button
          key={query}
          type="button"
          className="tag facet"
          title={query}
          onClick={() => change({ q: addCondition(filter, query) })}
        >
          <Icon name="plus" small /> <bdi className="cut">{label}</bdi>
          <span className="dim">{count}</span>
        </button>
      ))}
    </div>
  );
}

type ChartProps = {
  range: RangeName;
  chosen_at: number;
  body: object;
  search: TracesSearch;
  change: Change;
};

/** Draws the histogram. Its range moves each minute. The list keeps its start, and adds new runs. */
function Chart({ range, chosen_at, body: listed, search: { from, to }, change }: ChartProps) {
  const minutes = Math.floor((Date.now() - chosen_at) / MINUTE_MS);
  const window = windowOf(range, chosen_at + minutes * MINUTE_MS, { from, to });
  const body = { ...listed, start_time: from ?? window.start };
  const stride = toStride(window.stride_s);
  const query = useApiQuery<RunSeries>(apiPath`/api/v1/runs/stats`, {
    post: { ...body, start_time: window.start, end_time: window.end, stride },
    poll: POLL_MS,
    keepPrevious: true,
  });
  // The first bucket begins before the chosen time and the last one ends after it: their sum would cover more than the
  // list.
  const totals = useApiQuery<Totals>(apiPath`/api/v1/runs/stats`, {
    post: { ...body, select: TOTALS },
    poll: POLL_MS,
    keepPrevious: true,
  });
  const end = query.data === undefined ? 0 : Date.parse(query.data.end_time);
  const isWhole = window.isChosen || (from === undefined && to === undefined);
  return (
    <QueryState query={query} what="The histogram could not be read" rows={2}>
      {(series) => (
        <>
          {totals.data && <Figures totals={totals.data} />}
          {totals.error && <ErrorState what="The figures could not be read" error={totals.error} />}
          <Histogram
            series={series}
            chosen={
              isWhole
                ? null
                : { from: Date.parse(from ?? window.start), to: to ? Date.parse(to) : end }
            }
            onChoose={(next) =>
              change(next ? choiceOf(next, window, end) : { from: undefined, to: undefined })
            }
          />
        </>
      )}
    </QueryState>
  );
}
