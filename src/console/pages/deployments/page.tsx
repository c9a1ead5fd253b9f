import { getRouteApi, Link } from "@tanstack/react-router";
import type { DeploymentsList } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { DeploymentTable, pollOf } from "../../deployments/table.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { NoRows, Pager } from "../../ui/blocks/pager.tsx";
import { Icon } from "../../ui/icon.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { QueryState } from "../../ui/states.tsx";

const route = getRouteApi("/w/$workspace/deployments");
const PAGE = 100;

export function DeploymentsPage() {
  const { q, offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: PAGE, offset, name_contains: q },
    poll: pollOf,
    keepPrevious: true,
  });
  return (
    <>
      <TopBar title="Deployments">
        <LivePill
          state={liveStateOf(query)}
          title="Read every 5 s, every 2 s while a revision builds, while this page is visible"
        />
      </TopBar>
      <PageHeader
        title="Deployments"
        sub="A push or a person builds a revision. The newest good one serves, unless you roll back."
        actions={<NewButton />}
      />
      <div className="bar">
        <SearchField
          label="Name"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
        />
      </div>
      <QueryState query={query} what="The deployments could not be read">
        {({ resources }) => (
          <Panel
            label="Deployments"
            footer={
              <Pager
                noun="deployment"
                offset={offset}
                count={resources.length}
                size={PAGE}
                onChange={(next) =>
                  void navigate({ search: (former) => ({ ...former, offset: next }) })
                }
              />
            }
          >
            {resources.length === 0 ? (
              <NoRows noun="deployment" offset={offset}>
                <NoDeployments name={q} />
              </NoRows>
            ) : (
              <DeploymentTable rows={resources} />
            )}
          </Panel>
        )}
      </QueryState>
    </>
  );
}

function NewButton() {
  const workspace = useWorkspaceId();
  if (!useMay("write")) return null;
  return (
    <Link to={pathTo(workspace, "/deployments/new")} className="btn pri">
      <Icon name="plus" /> New deployment
    </Link>
  );
}

function NoDeployments({ name }: { name: string | undefined }) {
  if (name !== undefined) {
    return (
      <Empty title={`No deployment has “${name}” in its name`}>Search for another name.</Empty>
    );
  }
  return (
    <Empty title="No deployments yet" action={<NewButton />}>
      A deployment builds an agent from a git repository or a folder, and serves it.
    </Empty>
  );
}
