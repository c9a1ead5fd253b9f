import { useState } from "react";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import {
  buildAgainOf,
  type MoveName,
  moveOf,
  othersOf,
  roleOf,
} from "../../deployments/revision-role.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { InlineError } from "../../ui/blocks/inline-error.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { formatDuration } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { useToast } from "../../ui/toasts.tsx";

type Props = { deployment: Deployment; revision: Revision };

/** The actions that the state of a revision allows. Draws nothing for viewers. */
export function RevisionActions({
  deployment,
  revision,
  revisions,
}: Props & { revisions: Revision[] }) {
  const mayWrite = useMay("write");
  const role = roleOf(deployment, revision);
  const { isBuilding, kind } = showStatus(revision.status);
  if (!mayWrite) return null;
  if (isBuilding) return <CancelBuild revision={revision} />;
  if (kind !== "ok") return <BuildAgain revision={revision} />;
  if (role.percent === 100) {
    return (
      <>
        <BuildAgain revision={revision} />
        {othersOf(revisions, revision).map((other) => (
          <Move key={other.id} deployment={deployment} revision={other} isOther />
        ))}
      </>
    );
  }
  return (
    <>
      {deployment.traffic.length === 0 && (
        <StartCanary deployment={deployment} revision={revision} />
      )}
      <Move deployment={deployment} revision={revision} />
    </>
  );
}

/** Moves all traffic to a revision, which the button names when the page shows another one. */
function Move({ deployment, revision, isOther = false }: Props & { isOther?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const act = moveOf(deployment, revision);
  return (
    <>
      <button type="button" className={`btn ${isOther ? "" : "pri"}`} onClick={() => setOpen(true)}>
        <Icon name={act === "Promote" ? "up" : "undo"} /> {act}
        {isOther && (act === "Promote" ? ` ${nameOf(revision)}` : ` to ${nameOf(revision)}`)}
      </button>
      {isOpen && (
        <MoveTraffic
          act={act}
          deployment={deployment}
          revision={revision}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** Percent of the traffic with which a canary begins. */
const CANARY_PERCENT = 10;

function StartCanary({ deployment, revision }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { active_revision_id: stable } = deployment;
  const { mutateAsync } = useApiChange({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment.id}`,
    body: () => ({
      traffic: [
        { revision_id: revision.id, percent: CANARY_PERCENT },
        { revision_id: stable, percent: 100 - CANARY_PERCENT },
      ],
    }),
    invalidates: ["/v2/deployments"],
  });
  if (stable === null) return null;
  return (
    <>
      <button type="button" className="btn" onClick={() => setOpen(true)}>
        Start a canary
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Send ${CANARY_PERCENT}% of the traffic to ${nameOf(revision)}?`}
          act="Start canary"
          keep="Keep as it is"
          onAct={() => mutateAsync()}
          onClose={() => setOpen(false)}
        >
          A thread keeps the revision that it began on. Change or end the canary above the
          revisions, where errors and times of both sides are shown.
        </ConfirmDialog>
      )}
    </>
  );
}

type MoveProps = Props & { act: MoveName; onClose: () => void };

function MoveTraffic({ act, deployment, revision, onClose }: MoveProps) {
  const move = useMove(deployment);
  const name = nameOf(revision);
  return (
    <ConfirmDialog
      title={`${act === "Promote" ? `Promote ${name}` : `Roll back to ${name}`} in ${deployment.name}?`}
      act={`${act} now`}
      keep="Keep as it is"
      onAct={() =>
        move(revision.id, act, act === "Promote" ? `Promoted ${name}` : `Rolled back to ${name}`)
      }
      onClose={onClose}
    >
      All traffic moves to {name} within seconds.{" "}
      {deployment.traffic.length > 1 && "The split ends. "}
      Nothing is built and nothing is deleted, so you can move{" "}
      {act === "Promote" ? "back" : "forward"} again the same way. Runs under way end on the
      revision that they began on.
    </ConfirmDialog>
  );
}

/** The button of the toast that undoes a move, and the move that it makes. */
const BACK: Record<MoveName, { label: string; act: MoveName; done: string }> = {
  "Roll back": { label: "Move forward again", act: "Promote", done: "Moved forward" },
  Promote: { label: "Move back again", act: "Roll back", done: "Moved back" },
};

/**
 * Returns a function that moves all traffic to a revision. The toast shows how long the move took, with a button that
 * undoes it.
 */
function useMove(deployment: Deployment) {
  const toast = useToast();
  const { mutateAsync } = useApiChange<string, Deployment>({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment.id}`,
    body: (revision_id) => ({ traffic: [{ revision_id, percent: 100 }] }),
    invalidates: ["/v2/deployments"],
  });
  const former = deployment.active_revision_id;
  const move = async (revision_id: string, act: MoveName, done: string): Promise<void> => {
    const started = performance.now();
    await mutateAsync(revision_id);
    const text = `${done} in ${formatDuration(performance.now() - started)}`;
    if (former === null || former === revision_id) return toast(text);
    const back = BACK[act];
    const onFailed = (error: Error) => toast(`The traffic was not moved: ${error.message}`);
    const onClick = () => void move(former, back.act, back.done).catch(onFailed);
    toast(text, { label: back.label, onClick });
  };
  return move;
}

function BuildAgain({ revision }: { revision: Revision }) {
  const toast = useToast();
  const build = useApiChange<void, Revision>({
    path: apiPath`/v2/deployments/${revision.deployment_id}/revisions`,
    body: () => buildAgainOf(revision),
    invalidates: ["/v2/deployments"],
  });
  return (
    <>
      <button
        type="button"
        className="btn"
        disabled={build.isPending}
        onClick={() => build.mutate(undefined, { onSuccess: () => toast("A new revision builds") })}
      >
        <Icon name="refresh" /> {build.isPending ? "Starting" : "Build again"}
      </button>
      <InlineError error={build.error} />
    </>
  );
}

function CancelBuild({ revision }: { revision: Revision }) {
  const [isOpen, setOpen] = useState(false);
  const { mutateAsync } = useApiChange({
    path: apiPath`/v2/deployments/${revision.deployment_id}/revisions/${revision.id}/interrupt`,
    invalidates: ["/v2/deployments"],
  });
  return (
    <>
      <button type="button" className="btn" onClick={() => setOpen(true)}>
        <Icon name="stop" /> Cancel build
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Cancel the build of ${nameOf(revision)}?`}
          act="Cancel build"
          keep="Let it build"
          onAct={() => mutateAsync()}
          onClose={() => setOpen(false)}
        >
          The build ends at once and does not resume. The revision that serves is not affected.
        </ConfirmDialog>
      )}
    </>
  );
}
