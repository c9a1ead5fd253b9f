import type { UseQueryResult } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRef } from "react";
import type {
  Revision,
  RevisionsList,
} from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { useRevisions } from "../../deployments/use-revisions.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty, PageHeader } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { RevisionList } from "./revision-list.tsx";
import { RevisionView } from "./revision-view.tsx";
import { Settings } from "./settings/settings.tsx";
import { Traffic } from "./traffic.tsx";

const route = getRouteApi("/w/$workspace/deployments/$deployment");
const POLL_MS = 3000;
const ABOVE = [{ label: "Deployments", path: "/deployments" }];

export function DeploymentPage() {
  const { deployment: id } = route.useParams();
  const query = useApiQuery<Deployment>(apiPath`/v2/deployments/${id}`, { poll: POLL_MS });
  const revisions = useRevisions(id);
  const { resources = [] } = revisions.data ?? {};
  const building = resources.filter(({ status }) => showStatus(status).isBuilding).length;
  return (
    <>
      <TopBar above={ABOVE} title={query.data?.display_name ?? query.data?.name ?? "Deployment"}>
        <LivePill
          state={liveStateOf(query)}
          note={building > 0 ? `${building} building` : undefined}
          title="Read every 3 s, revisions every 2 s while one builds, while this page is visible"
        />
      </TopBar>
      <QueryState query={query} what="The deployment could not be read">
        {(deployment) => <Found deployment={deployment} revisions={revisions} />}
      </QueryState>
    </>
  );
}

type FoundProps = { deployment: Deployment; revisions: UseQueryResult<RevisionsList> };

function Found({ deployment, revisions }: FoundProps) {
  const { workspace } = route.useParams();
  const { tab = "revisions" } = route.useSearch();
  const { name, display_name, url, source_config } = deployment;
  return (
    <>
      <PageHeader
        title={display_name ?? name}
        facts={
          source_config.repo_url && (
            <span className="dim sm row">
              <Icon name="branch" small />
              <span className="break-all">{source_config.repo_url}</span>
            </span>
          )
        }
        sub={
          <span className="row">
            <code className="sm cut">{url}</code>
            <CopyButton text={url} label="Copy the URL of the agent server" />
          </span>
        }
      />
      <nav className="tabs" aria-label="Deployment">
        {(["revisions", "settings"] as const).map((each) => (
          <route.Link
            key={each}
            to="."
            search={(former) => ({ ...former, tab: each === "revisions" ? undefined : each })}
            activeOptions={{ explicitUndefined: true }}
            aria-current={tab === each ? "page" : undefined}
          >
            {each === "revisions" ? "Revisions" : "Settings"}
          </route.Link>
        ))}
        <Link to={pathTo(workspace, "/threads")} search={{ deployment: deployment.id }}>
          Threads
        </Link>
        <Link to={pathTo(workspace, "/playground")} search={{ deployment: deployment.id }}>
          Playground
        </Link>
      </nav>
      {tab === "settings" ? (
        <Settings deployment={deployment} />
      ) : (
        <QueryState query={revisions} what="The revisions could not be read">
          {({ resources }) => <Revisions deployment={deployment} revisions={resources} />}
        </QueryState>
      )}
    </>
  );
}

type Props = { deployment: Deployment; revisions: Revision[] };

function Revisions({ deployment, revisions }: Props) {
  const { rev } = route.useSearch();
  // A build that was shown stays on the page when it ends, before the deployment is read with it as the active one.
  const watched = useRef<string | null>(null);
  const [newest] = revisions;
  if (newest && showStatus(newest.status).isBuilding) watched.current = newest.id;
  const preferred = newest?.id === watched.current ? newest : chooseRevision(deployment, revisions);
  const chosen = rev === undefined ? preferred : revisions.find(({ id }) => id === rev);
  const id = chosen?.id ?? rev;
  if (id === undefined) return <Empty title="No revisions yet" />;
  return (
    <>
      <Traffic deployment={deployment} revisions={revisions} />
      <div className="revs">
        <RevisionList deployment={deployment} revisions={revisions} chosen={id} />
        {chosen ? (
          <RevisionView deployment={deployment} revision={chosen} revisions={revisions} />
        ) : (
          <Unlisted deployment={deployment} revisions={revisions} id={id} />
        )}
      </div>
    </>
  );
}

/** Shows a revision that is older than the listed ones, or too new for the last read of the list. */
function Unlisted({ deployment, revisions, id }: Props & { id: string }) {
  const path = apiPath`/v2/deployments/${deployment.id}/revisions/${id}`;
  return (
    <QueryState query={useApiQuery<Revision>(path)} what="The revision could not be read">
      {(revision) => (
        <RevisionView deployment={deployment} revision={revision} revisions={revisions} />
      )}
    </QueryState>
  );
}

/** Returns the newest revision unless it is built, otherwise the one that serves. */
function chooseRevision({ active_revision_id }: Deployment, revisions: Revision[]) {
  const [newest] = revisions;
  if (newest === undefined || showStatus(newest.status).kind !== "ok") return newest;
  return revisions.find(({ id }) => id === active_revision_id) ?? newest;
}
