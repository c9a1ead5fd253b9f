import { Link } from "@tanstack/react-router";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useWorkspaceId } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { isFirstToServe, isRolledBack } from "../../deployments/revision-role.ts";
import { pathTo } from "../../state/path.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import type { RevisionFigures } from "./figures.tsx";

type Props = {
  deployment: Deployment;
  revision: Revision;
  revisions: Revision[];
  /** Figures of the last day by revision, `undefined` before they are read. */
  figures: Map<string, RevisionFigures> | undefined;
};

/** Shows the next step after a first build, or the reason why a newer revision does not serve. */
export function RevisionNotes({ deployment, revision, revisions, figures }: Props) {
  const { active_revision: active } = deployment;
  if (active !== null && isRolledBack(deployment, revision)) {
    return (
      <div className="note">
        <Icon name="undo" />
        <div>A rollback replaced this revision: {nameOf(active)}, which is older, serves.</div>
      </div>
    );
  }
  const hasNoRuns = figures !== undefined && !figures.has(revision.id);
  if (hasNoRuns && isFirstToServe(deployment, revision, revisions)) {
    return <TryIt deployment_id={deployment.id} />;
  }
  return null;
}

function TryIt({ deployment_id }: { deployment_id: string }) {
  const workspace = useWorkspaceId();
  if (!useMay("write")) return null;
  return (
    <div className="note ok items-center">
      <Icon name="check" />
      <div className="grow">The agent serves. Send it a first message.</div>
      <Link
        to={pathTo(workspace, "/playground")}
        search={{ deployment: deployment_id }}
        className="btn pri"
      >
        Try it in the playground
      </Link>
    </div>
  );
}

export function PreviewUrl({ url }: { url: string }) {
  return (
    <div className="note run">
      <Icon name="info" />
      <div>
        A preview serves at this URL alone and takes no traffic until you promote it.
        <div className="row">
          <code className="sm cut">{url}</code>
          <CopyButton text={url} label="Copy the URL of the preview" />
        </div>
      </div>
    </div>
  );
}
