import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { Project } from "../../../../traces/projects/schema.ts";
import { useInvalidate, useWorkspaceId } from "../../../api/hooks.ts";
import { TopBar } from "../../../shell/top-bar.tsx";
import { pathTo } from "../../../state/path.ts";
import { keepOrder } from "../../../traces/last-list.ts";
import type { TracesSearch } from "../../../traces/search.ts";
import { formatNumber } from "../../../ui/formats.ts";
import { LivePill, liveStateOf } from "../../../ui/live-pill.tsx";
import { Empty } from "../../../ui/panel.tsx";
import { ErrorState, Skeleton } from "../../../ui/states.tsx";
import { Elsewhere } from "./elsewhere.tsx";
import { countText, mergeChanges, type TraceListRow } from "./trace-row.ts";
import { TraceTable } from "./trace-table.tsx";
import { type ListQuery, useRunning, useTraceChanges, useTraceList } from "./use-trace-list.ts";

type Props = {
  query: ListQuery;
  projects: Project[];
  pick: string | undefined;
  change: (search: TracesSearch) => void;
};

/** A page that is scrolled less than this is at its top. */
const TOP_PX = 40;

export function TraceList({ query, projects, pick, change }: Props) {
  const [isPaused, setPaused] = useState(false);
  const isLive = !isPaused && query.end_time === undefined;
  const changes = useTraceChanges(query, isLive);
  const { list, cutToFirstPage } = useTraceList(query, changes.query.isFetched);
  const listed = useMemo(
    () => (list.data?.pages ?? []).flatMap(({ runs }) => runs as TraceListRow[]),
    [list.data],
  );
  const running = useRunning(query, listed, isLive);
  const { rows, newCount } = mergeChanges(listed, new Map([...changes.changed, ...running]));
  useEffect(() => keepOrder(rows.map(({ trace_id }) => trace_id)), [rows]);
  const invalidate = useInvalidate();
  const show = () => {
    changes.reset();
    cutToFirstPage();
    void invalidate("/api/v1/runs/query");
    scrollTo({ top: 0 });
  };
  // New rows wait while the list is read, because they would cancel that read, and while later pages of a search are
  // shown.
  const isSearch = list.data?.pages.some(({ stopped }) => stopped !== undefined) === true;
  const mayRead = !list.isFetching && !isSearch;
  useShowAtTop(isLive && pick === undefined && newCount > 0 && mayRead, show);
  const compare = useCompare(pick, change);
  const isInRange = query.end_time === undefined;
  return (
    <>
      <TopBar title="Traces">
        {isInRange && newCount > 0 && (
          <button type="button" className="live-pill paused" onClick={show}>
            <span className="dot" aria-hidden="true" />
            {formatNumber(newCount)} new, show
          </button>
        )}
        {isInRange && (
          <>
            <LivePill
              state={isPaused ? "paused" : liveStateOf(changes.query)}
              title="Changes are read every 5 s while this page is visible"
            />
            <button
              type="button"
              className="btn sm"
              aria-pressed={isPaused}
              onClick={() => setPaused(!isPaused)}
            >
              {isPaused ? "Follow" : "Pause"}
            </button>
          </>
        )}
      </TopBar>
      <Content {...{ list, rows, pick, query, projects }} onPick={compare} />
    </>
  );
}

/** Shows new rows at once while the page is at its top. Otherwise they are counted, and wait for the button. */
function useShowAtTop(isWanted: boolean, show: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: shows once for each change of the wish
  useEffect(() => {
    if (isWanted && scrollY < TOP_PX) show();
  }, [isWanted]);
}

/**
 * Returns the function of the buttons Compare: the first choice is kept in the address, and the second one opens the
 * comparison.
 */
function useCompare(pick: string | undefined, change: Props["change"]): (id: string) => void {
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  return (id) => {
    if (pick === undefined || pick === id) change({ pick: pick === id ? undefined : id });
    else void navigate({ to: pathTo(workspace, "/traces/compare"), search: { a: pick, b: id } });
  };
}

type ContentProps = {
  list: ReturnType<typeof useTraceList>["list"];
  rows: TraceListRow[];
  pick: string | undefined;
  query: ListQuery;
  projects: Project[];
  onPick: (id: string) => void;
};

function Content({ list, rows, pick, query, projects, onPick }: ContentProps) {
  const { error, data, refetch, hasNextPage } = list;
  const stopped = data?.pages.at(-1)?.stopped;
  const what = "The traces could not be read";
  if (data === undefined) {
    return error ? (
      <ErrorState what={what} error={error} retry={() => void refetch()} />
    ) : (
      <Skeleton />
    );
  }
  return (
    <>
      {error && (
        <ErrorState
          what={`${what} again`}
          error={error}
          retry={() => void refetch()}
          intact="The rows below are of the last read."
        />
      )}
      {rows.length > 0 && (
        <div className={`traces-box ${list.isPlaceholderData ? "stale" : ""}`}>
          <TraceTable rows={rows} pick={pick} onPick={onPick} />
        </div>
      )}
      {rows.length === 0 && !hasNextPage && <None query={query} projects={projects} />}
      <More
        list={list}
        name={stopped === undefined ? "Show older" : "Continue"}
        text={countText(rows.length, query.is_root ? "trace" : "run", {
          hasMore: hasNextPage,
          stopped,
        })}
      />
    </>
  );
}

type MoreProps = Pick<ContentProps, "list"> & { name: string; text: string };

function More({ list, name, text }: MoreProps) {
  const { hasNextPage, isFetchingNextPage } = list;
  return (
    <div className="trace-more dim sm">
      <span>{text}</span>
      {hasNextPage && (
        <button
          type="button"
          className="btn sm"
          disabled={isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {isFetchingNextPage ? "Reading" : name}
        </button>
      )}
    </div>
  );
}

function None({ query, projects }: { query: ListQuery; projects: Project[] }) {
  const { filter, end_time } = query;
  if (filter !== undefined || end_time !== undefined) {
    return (
      <Empty
        title="No trace matches"
        action={filter !== undefined && <Elsewhere query={query} projects={projects} />}
      >
        The project has none of this filter in this time. Remove a condition, or choose a longer
        time.
      </Empty>
    );
  }
  return (
    <Empty title="No traces in this time">
      Runs of the project appear here as they start. Choose a longer time to see older ones.
    </Empty>
  );
}
