import type { UseQueryResult } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { agentPath, type ThreadItem } from "../../runs/stream/agent.ts";
import { useServingDeployment } from "../../runs/use-serving-deployments.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { ErrorState, QueryState, Skeleton } from "../../ui/states.tsx";
import { parseFilter, withTexts } from "./filter.ts";
import { Filters, UnparsedWord } from "./filters.tsx";
import { PAGE_SIZE, Pages } from "./pages.tsx";
import type { ThreadsSearch } from "./search.ts";
import { useCounts } from "./status-filter.tsx";
import { useSteady } from "./steady.ts";
import { RUNS_SHOWN, ThreadTable } from "./table.tsx";
import { EXTRACTED } from "./title.ts";

const route = getRouteApi("/w/$workspace/threads");
const POLL_MS = 3000;

export function ThreadsPage() {
  const { deployment } = route.useSearch();
  const serving = useServingDeployment(deployment);
  if (serving.isPending) return <Skeleton />;
  if (serving.chosen !== null) return <Threads {...serving.chosen} />;
  return (
    <>
      <TopBar title="Threads" />
      <PageHeader title="Threads" />
      {serving.error ? (
        <ErrorState
          what="The deployments could not be read"
          error={serving.error}
          retry={serving.retry}
        />
      ) : (
        <NoAgents wanted={deployment} />
      )}
    </>
  );
}

function NoAgents({ wanted }: { wanted: string | undefined }) {
  return (
    <Panel>
      <Empty title={wanted ? "This deployment serves nothing" : "No agent serves yet"}>
        Threads of an agent appear here once its deployment has a revision that serves.
      </Empty>
    </Panel>
  );
}

type Change = (search: Partial<ThreadsSearch>) => void;

function Threads({ id: deployment, tracing_project_id: project }: Deployment) {
  const { q = "", page = 1, status, live } = route.useSearch();
  const navigate = route.useNavigate();
  const { filter, unparsed } = parseFilter(q);
  const poll = live === "off" ? false : POLL_MS;
  const counts = useCounts(deployment, filter, poll);
  const query = useThreads(deployment, filter, poll);
  const change: Change = (search) =>
    void navigate({ search: (former) => ({ ...former, ...search }), replace: true });
  return (
    <>
      <LiveBar query={query} isPaused={live === "off"} change={change} />
      <PageHeader title="Threads" actions={<NewThread deployment={deployment} />} />
      <Filters deployment={deployment} counts={counts} change={change} />
      {unparsed !== null && <UnparsedWord word={unparsed} project={project} />}
      <QueryState query={query} what="The threads could not be read">
        {(rows) => (
          <Listed
            deployment={deployment}
            rows={rows}
            view={query.isPlaceholderData ? "" : JSON.stringify([deployment, q, page, status])}
            total={counts?.[status ?? "all"]}
            change={change}
          />
        )}
      </QueryState>
    </>
  );
}

type ListedProps = {
  deployment: string;
  rows: ThreadItem[];
  view: string;
  total: number | undefined;
  change: Change;
};

function Listed({ deployment, rows: read, view, total, change }: ListedProps) {
  const { q = "", page = 1, status } = route.useSearch();
  const { rows, fresh, showFresh } = useSteady(read, view);
  return (
    <Panel
      label="Threads"
      end={
        fresh === 0 ? undefined : (
          <button type="button" className="btn sm" onClick={showFresh}>
            Show {formatCount(fresh, "new thread")}
          </button>
        )
      }
      footer={
        <Pages
          page={page}
          shown={rows.length}
          total={total}
          onChange={(next) => change({ page: next > 1 ? next : undefined })}
        />
      }
    >
      {rows.length === 0 ? (
        <NoThreads
          isFiltered={q !== "" || status !== undefined || page > 1}
          quoted={withTexts(q)}
          change={change}
        />
      ) : (
        <ThreadTable deployment={deployment} rows={rows} />
      )}
    </Panel>
  );
}

function useThreads(deployment: string, filter: object, poll: number | false) {
  const { page = 1, status } = route.useSearch();
  return useApiQuery<ThreadItem[]>(agentPath(deployment)`/threads/search`, {
    post: {
      ...filter,
      status,
      limit: PAGE_SIZE,
      offset: (page - 1) * PAGE_SIZE,
      sort_by: "updated_at",
      sort_order: "desc",
      select: ["thread_id", "status", "updated_at", "metadata", "interrupts", "error"],
      extract: EXTRACTED,
      recent_runs: RUNS_SHOWN + 1,
    },
    poll,
    keepPrevious: true,
  });
}

type LiveProps = { query: UseQueryResult<unknown>; isPaused: boolean; change: Change };

function LiveBar({ query, isPaused, change }: LiveProps) {
  return (
    <TopBar title="Threads">
      <LivePill
        state={isPaused ? "paused" : liveStateOf(query)}
        title="Read every 3 s while this page is visible"
      />
      <button
        type="button"
        className="btn sm ghost"
        onClick={() => change({ live: isPaused ? undefined : "off" })}
      >
        <Icon name={isPaused ? "play" : "pause"} small />
        {isPaused ? "Follow" : "Pause"}
      </button>
    </TopBar>
  );
}

type NoneProps = { isFiltered: boolean; quoted: string | null; change: Change };

function NoThreads({ isFiltered, quoted, change }: NoneProps) {
  if (quoted !== null) {
    const act = (
      <button type="button" className="btn" onClick={() => change({ q: quoted })}>
        Find <code>{quoted}</code>
      </button>
    );
    return (
      <Empty title="No thread matches" action={act}>
        A number or a boolean finds no text of the same characters.
      </Empty>
    );
  }
  if (isFiltered) return <Empty title="No thread matches">Change the filter or the status.</Empty>;
  return (
    <Empty title="No threads yet">
      Each conversation with the agent is a thread. Start one here, or by the API.
    </Empty>
  );
}

/** Links to the playground, which creates the thread with its first run. */
export function NewThread({ deployment }: { deployment: string }) {
  const workspace = useWorkspaceId();
  if (!useMay("write")) return null;
  return (
    <Link to={pathTo(workspace, "/playground")} search={{ deployment }} className="btn">
      <Icon name="plus" /> New thread
    </Link>
  );
}
