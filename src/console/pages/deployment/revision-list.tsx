import { getRouteApi } from "@tanstack/react-router";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { type RevisionRole, roleOf } from "../../deployments/revision-role.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { formatCount } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { StatusIcon, toneOf } from "../../ui/status.tsx";
import { Elapsed, Time } from "../../ui/values.tsx";
import { NewRevision } from "./new-revision.tsx";

const route = getRouteApi("/w/$workspace/deployments/$deployment");

type Props = { deployment: Deployment; revisions: Revision[]; chosen: string };

export function RevisionList({ deployment, revisions, chosen }: Props) {
  return (
    <Panel
      title="Revisions"
      end={<NewRevision deployment={deployment} />}
      footer={countText(revisions.length)}
    >
      <ul>
        {revisions.map((revision) => (
          <li key={revision.id}>
            <route.Link
              to="."
              search={(former) => ({ ...former, rev: revision.id, line: undefined })}
              className="rev"
              aria-current={revision.id === chosen || undefined}
            >
              <Row revision={revision} role={roleOf(deployment, revision)} />
            </route.Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Number of revisions that `useRevisions` reads. */
const PAGE = 100;

function countText(count: number): string {
  return count < PAGE ? formatCount(count, "revision") : `The newest ${PAGE} revisions`;
}

function Row({ revision, role }: { revision: Revision; role: RevisionRole }) {
  const { isBuilding } = showStatus(revision.status);
  return (
    <>
      <span className={toneOf(role.kind)}>
        <StatusIcon kind={role.kind} />
      </span>
      <span className="grow">
        <span className="row">
          <span className="sha">{nameOf(revision)}</span>
          {revision.is_preview && <span className="tag">preview</span>}
          <span className="push dim sm">
            {isBuilding ? (
              <Elapsed start={revision.created_at} end={null} />
            ) : (
              <Time at={revision.created_at} />
            )}
          </span>
        </span>
        {revision.repo_commit_message && (
          <span className="cut block" title={revision.repo_commit_message}>
            {revision.repo_commit_message}
          </span>
        )}
        <span className="dim sm cut block">
          {role.word}
          {revision.status_reason && (
            <>
              : <code>{revision.status_reason}</code>
            </>
          )}
        </span>
      </span>
    </>
  );
}
