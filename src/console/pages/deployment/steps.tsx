import type { Revision, RevisionStep } from "../../../control-plane/deployments/revision-schema.ts";
import { formatDuration } from "../../ui/formats.ts";
import type { StatusKind } from "../../ui/icons/status-kind.ts";
import { StatusIcon } from "../../ui/status.tsx";
import { Duration, Elapsed } from "../../ui/values.tsx";

const NAMES: Record<RevisionStep["name"], string> = {
  queue: "Queued",
  fetch: "Source",
  install: "Install",
  bundle: "Bundle",
  load: "Load check",
  deploy: "Deploy",
};

const SHOWN: Record<RevisionStep["status"], { kind: StatusKind; tone: string }> = {
  pending: { kind: "queued", tone: "todo" },
  running: { kind: "running", tone: "now" },
  success: { kind: "ok", tone: "done" },
  error: { kind: "failed", tone: "bad" },
  cancelled: { kind: "cancelled", tone: "todo" },
  skipped: { kind: "skipped", tone: "todo" },
};

type Props = { revision: Revision; revisions: Revision[] };

/**
 * Shows the steps of a build with their durations. Steps to come have the durations of the last revision that was
 * built.
 */
export function BuildSteps({ revision, revisions }: Props) {
  if (revision.steps.length === 0) return null;
  const former = revisions.find(
    ({ id, status, steps }) => id !== revision.id && status === "DEPLOYED" && steps.length > 0,
  );
  return (
    <section className="panel in-p" aria-label="Steps of the build">
      <ol className="steps in-p">
        {revision.steps.map((step) => (
          <li key={step.name} className={`step ${SHOWN[step.status].tone}`}>
            <StatusIcon kind={SHOWN[step.status].kind} />
            <div className="m">{NAMES[step.name]}</div>
            <div className="dim">
              <StepTime
                step={step}
                former={former?.steps.find(({ name }) => name === step.name)?.duration_ms ?? null}
              />
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function StepTime({ step, former }: { step: RevisionStep; former: number | null }) {
  const { status, started_at, duration_ms } = step;
  if (duration_ms !== null) return <Duration ms={duration_ms} />;
  if (status === "running" && started_at) return <Elapsed start={started_at} end={null} />;
  if (status === "skipped" || status === "cancelled") return "not run";
  return former === null ? "" : `last time ${formatDuration(former)}`;
}
