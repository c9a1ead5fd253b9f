import { getRouteApi } from "@tanstack/react-router";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { type LogEntry, LogLine } from "../../ui/log-view.tsx";

const route = getRouteApi("/w/$workspace/deployments/$deployment");

type Props = {
  revision: Revision;
  deployment: Deployment;
  revisions: Revision[];
  lines: LogEntry[];
};

/** Shows why a build failed, with the line of the log, and the revisions that serve in spite of it. */
export function Failure({ revision, deployment, revisions, lines }: Props) {
  const { status_reason, status_message } = revision;
  return (
    <section className="panel border-err-edge" aria-label="Why it failed">
      <div className="in-p grid gap-2">
        <div className="row wrap">
          <Icon name="status-failed" className="err" />
          <code className="b err">{status_reason ?? revision.status}</code>
          <span className="push">
            <CopyButton text={JSON.stringify(revision, null, 2)} label="Copy as JSON" showLabel />
          </span>
        </div>
        <p className="lg break-words">{status_message ?? "The build gave no message."}</p>
        <FailingLine revision={revision} lines={lines} />
      </div>
      <footer>
        <Icon name="status-ok" small className="ok" />
        <span>Nothing changed for users: {servingText(deployment, revisions)}.</span>
      </footer>
    </section>
  );
}

function FailingLine({ revision, lines }: Pick<Props, "revision" | "lines">) {
  const index = lines.findIndex(({ id }) => id === revision.error_log_id);
  const found = lines[index];
  if (found === undefined) return null;
  return (
    <div className="border border-line rounded-md overflow-hidden">
      <div className="row px-2.5 py-1 bg-inset dim sm">
        <Icon name="menu" small />
        <span>Line {found.number} of the build log</span>
        <route.Link
          to="."
          className="push"
          search={(former) => ({ ...former, log: "build", find: undefined, line: found.number })}
        >
          Show in log
        </route.Link>
      </div>
      <div className="log py-1">
        <LogLine line={lines[index - 1]} />
        <LogLine line={found} />
        <LogLine line={lines[index + 1]} />
      </div>
    </div>
  );
}

function servingText({ traffic, active_revision_id }: Deployment, revisions: Revision[]): string {
  const name = (id: string) => {
    const revision = revisions.find((each) => each.id === id);
    return revision ? nameOf(revision) : shortId(id);
  };
  if (active_revision_id === null) return "no revision has served yet";
  if (traffic.length < 2) return `${name(active_revision_id)} serves`;
  return traffic
    .map(({ revision_id, percent }) => `${name(revision_id)} serves ${percent}%`)
    .join(", ");
}
