import { getRouteApi } from "@tanstack/react-router";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath, under } from "../../api/path.ts";
import { useItem } from "../../api/use-item.ts";
import { ServingPage } from "../../runs/serving-page.tsx";
import { LiveControl, type Polling, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { NoRows, Pager } from "../../ui/blocks/pager.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { NewAssistant } from "./actions.tsx";
import { AssistantDetail } from "./detail.tsx";

const route = getRouteApi("/w/$workspace/assistants");
const POLL_MS = 10_000;
const PAGE = 50;

export function AssistantsPage() {
  const { deployment } = route.useSearch();
  const navigate = route.useNavigate();
  const polling = usePolling();
  return (
    <>
      <PageHeader title="Assistants" sub="Graphs with their configuration, in versions." />
      <ServingPage
        wanted={deployment}
        onChange={(id) => void navigate({ search: { deployment: id } })}
      >
        {(chosen) => <Assistants key={chosen.id} deployment={chosen} polling={polling} />}
      </ServingPage>
    </>
  );
}

type Props = { deployment: Deployment; polling: Polling };

function Assistants({ deployment, polling }: Props) {
  const { assistant, q, offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const path = apiPath`/agents/${deployment.id}/assistants`;
  const query = useApiQuery<Assistant[]>(under(path)`/search`, {
    post: { limit: PAGE, offset, sort_by: "name", sort_order: "asc", ...(q && { name: q }) },
    poll: polling.isPaused ? false : POLL_MS,
    keepPrevious: true,
  });
  const listed = query.data?.find(({ assistant_id }) => assistant_id === assistant);
  const chosen = useItem(assistant === undefined ? null : under(path)`/${assistant}`, listed, {
    poll: polling.isPaused ? false : POLL_MS,
  });
  return (
    <>
      <TopBar title="Assistants">
        <LiveControl polling={polling} query={query} title="Read every 10 s" />
      </TopBar>
      <NameSearch />
      <QueryState query={query} what="The assistants could not be read">
        {(rows) => (
          <div className={chosen ? "g2 g2-even" : "stack"}>
            <Panel
              title="Assistants"
              end={<NewAssistant path={path} />}
              footer={
                <Pager
                  noun="assistant"
                  offset={offset}
                  count={rows.length}
                  size={PAGE}
                  onChange={(next) =>
                    void navigate({ search: (former) => ({ ...former, offset: next }) })
                  }
                />
              }
            >
              {rows.length === 0 ? (
                <NoRows noun="assistant" offset={offset}>
                  <Empty title="No assistant has this name">Search for another name.</Empty>
                </NoRows>
              ) : (
                <DataTable
                  label="Assistants"
                  columns={COLUMNS}
                  rows={rows}
                  keyOf={({ assistant_id }) => assistant_id}
                  selected={assistant ?? null}
                />
              )}
            </Panel>
            {chosen && <AssistantDetail key={assistant} assistant={chosen} path={path} />}
          </div>
        )}
      </QueryState>
    </>
  );
}

function NameSearch() {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <div className="bar">
      <SearchField
        label="Name"
        value={q ?? ""}
        onChange={(text) =>
          void navigate({
            search: (former) => ({ ...former, q: text || undefined, offset: undefined }),
            replace: true,
          })
        }
      />
    </div>
  );
}

const COLUMNS: TableColumn<Assistant>[] = [
  { id: "name", header: "Name", cell: (row) => <Name assistant={row} /> },
  { id: "graph", header: "Graph", cell: ({ graph_id }) => <code>{graph_id}</code>, card: "full" },
  {
    id: "version",
    header: "Version",
    cell: ({ version }) => version,
    isRightAligned: true,
    card: "end",
  },
  {
    id: "updated",
    header: "Changed",
    cell: ({ updated_at }) => <Time at={updated_at} />,
    card: "hidden",
  },
];

function Name({ assistant: { assistant_id, name, metadata } }: { assistant: Assistant }) {
  return (
    <span className="row">
      <route.Link
        to="."
        search={(former) => ({ ...former, assistant: assistant_id, version: undefined })}
        className="m text-ink cut"
        title={name}
      >
        {name}
      </route.Link>
      {metadata.created_by === "system" && <span className="tag">of the graph</span>}
    </span>
  );
}
