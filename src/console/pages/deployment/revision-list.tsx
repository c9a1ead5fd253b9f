import { getRouteApi } from "@tanstack/react-router";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { formatCount } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { StatusIcon, type StatusKind, toneOf } from "../../ui/status.tsx";
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

type RevisionRole = { kind: StatusKind; word: string; percent: number };

/** Names the part of a revision in its deployment: it serves, is a canary, was replaced, or builds. */
export function roleOf(deployment: Deployment, revision: Revision): RevisionRole {
  const shown = showStatus(revision.status);
  if (revision.status !== "DEPLOYED") return { kind: shown.kind, word: shown.word, percent: 0 };
  const share = deployment.traffic.find(({ revision_id }) => revision_id === revision.id);
  if (share !== undefined && share.percent < 100) {
    const isActive = deployment.active_revision_id === revision.id;
    const { percent } = share;
    return { kind: isActive ? "ok" : "canary", word: `Serving ${percent}%`, percent };
  }
  if (deployment.active_revision_id === revision.id) {
    return { kind: "ok", word: "Serving", percent: 100 };
  }
  if (revision.is_preview) return { kind: "preview", word: "Preview", percent: 0 };
  // The deployment was read before this revision was built, so that it may serve by now.
  const word = revision.updated_at > deployment.updated_at ? "Built" : "Replaced";
  return { kind: "idle", word, percent: 0 };
}
