import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { roleOf } from "../../deployments/revision-role.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { Icon } from "../../ui/icon.tsx";
import { Status } from "../../ui/status.tsx";
import { Elapsed, Time } from "../../ui/values.tsx";
import { RevisionActions } from "./actions.tsx";
import { RevisionChanges } from "./changes.tsx";
import { Failure } from "./failure.tsx";
import { figuresText, useFigures } from "./figures.tsx";
import { Logs } from "./logs/logs.tsx";
import { useBuildLog } from "./logs/use-build-log.ts";
import { PreviewUrl, RevisionNotes } from "./revision-notes.tsx";
import { BuildSteps } from "./steps.tsx";

const TRIGGERS: Record<NonNullable<Revision["trigger"]>, string> = {
  api: "by the API",
  cli: "from the command line",
  console: "in the console",
  push: "by a push",
  redeploy: "by a redeploy",
  secrets: "by new secrets",
};

type Props = { deployment: Deployment; revision: Revision; revisions: Revision[] };

export function RevisionView({ deployment, revision, revisions }: Props) {
  const { kind, word } = roleOf(deployment, revision);
  const { isBuilding } = showStatus(revision.status);
  const build = useBuildLog(revision);
  const figures = useFigures(deployment.id);
  const { trigger, repo_commit_message } = revision;
  return (
    <div className="stack">
      <div className="row wrap">
        <h2 className="mono">{nameOf(revision)}</h2>
        <Status kind={kind}>{word}</Status>
        <span className="sm dim row">
          {revision.source_revision_config.repo_ref && (
            <>
              <Icon name="branch" small />
              <span className="cut">{revision.source_revision_config.repo_ref}</span>
            </>
          )}
          <Time at={revision.created_at} />
          {trigger && <span>{TRIGGERS[trigger]}</span>}
          {isBuilding && <Elapsed start={revision.created_at} end={null} />}
        </span>
        <span className="push row">
          <RevisionActions key={revision.id} {...{ deployment, revision, revisions }} />
        </span>
      </div>
      {repo_commit_message && <p className="break-words">{repo_commit_message}</p>}
      <RevisionChanges revision={revision} revisions={revisions} />
      <RevisionNotes {...{ deployment, revision, revisions, figures }} />
      {figures && revision.status === "DEPLOYED" && (
        <p className="sm dim">{figuresText(figures.get(revision.id))}</p>
      )}
      {revision.status === "DEPLOYED" && revision.status_message !== null && (
        <div className="note err" role="alert">
          <Icon name="status-failed" />
          <div>{revision.status_message}</div>
        </div>
      )}
      {kind === "failed" && (
        <Failure
          deployment={deployment}
          revision={revision}
          revisions={revisions}
          lines={build.lines}
        />
      )}
      <BuildSteps revision={revision} revisions={revisions} />
      {revision.is_preview && <PreviewUrl url={revision.url} />}
      <Logs revision={revision} build={build} />
    </div>
  );
}
