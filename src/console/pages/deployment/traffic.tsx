import { useState } from "react";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { shortId } from "../../ui/formats.ts";
import { ErrorState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { shortFiguresText, useFigures } from "./figures.tsx";

type Props = { deployment: Deployment; revisions: Revision[] };

/** Shows and changes the split of the traffic with a canary. Draws nothing without one. */
export function Traffic({ deployment, revisions }: Props) {
  const { traffic, active_revision_id } = deployment;
  const canary = traffic.find(({ revision_id }) => revision_id !== active_revision_id);
  if (traffic.length !== 2 || canary === undefined || active_revision_id === null) return null;
  return (
    <Split
      key={canary.percent}
      deployment={deployment}
      revisions={revisions}
      canary={canary}
      stable={active_revision_id}
    />
  );
}

type SplitProps = Props & { canary: { revision_id: string; percent: number }; stable: string };

function Split({ deployment, revisions, canary, stable }: SplitProps) {
  const [percent, setPercent] = useState(canary.percent);
  const toast = useToast();
  const mayWrite = useMay("write");
  const change = useApiChange<{ revision_id: string; percent: number }[]>({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment.id}`,
    body: (traffic) => ({ traffic }),
    invalidates: ["/v2/deployments"],
  });
  const name = (id: string) => {
    const revision = revisions.find((each) => each.id === id);
    return revision ? nameOf(revision) : shortId(id);
  };
  const figures = useFigures(deployment.id);
  const figuresOf = (id: string) => figures && shortFiguresText(figures.get(id));
  const set = async (share: number): Promise<void> => {
    const all = [
      { revision_id: canary.revision_id, percent: share },
      { revision_id: stable, percent: 100 - share },
    ].filter((each) => each.percent > 0);
    await change.mutateAsync(all);
    toast(`${name(canary.revision_id)} serves ${share}%`);
  };
  return (
    <section className="panel mb-4" aria-label="Traffic">
      <div className="row wrap in-p">
        <Status kind="canary">Canary</Status>
        <span>
          <span className="sha">{name(canary.revision_id)}</span> <b>{percent}%</b>
          <span className="dim sm block">{figuresOf(canary.revision_id)}</span>
        </span>
        <input
          className="range grow"
          type="range"
          min={1}
          max={99}
          value={percent}
          disabled={!mayWrite}
          aria-label={`Share of ${name(canary.revision_id)} in percent`}
          onChange={(event) => setPercent(Number(event.target.value))}
        />
        <span>
          <b>{100 - percent}%</b> <span className="sha">{name(stable)}</span>
          <span className="dim sm block">{figuresOf(stable)}</span>
        </span>
        {mayWrite && (
          <SplitButtons
            percent={percent}
            mayApply={percent !== canary.percent && !change.isPending}
            names={{ canary: name(canary.revision_id), stable: name(stable) }}
            onSet={set}
          />
        )}
      </div>
      {change.error && <ErrorState what="The split was not changed" error={change.error} />}
    </section>
  );
}

type ButtonProps = {
  percent: number;
  mayApply: boolean;
  names: { canary: string; stable: string };
  /** Rejects when the split was not changed, which the panel shows. */
  onSet: (percent: number) => Promise<void>;
};

function SplitButtons({ percent, mayApply, names, onSet }: ButtonProps) {
  const [open, setOpen] = useState<"promote" | "end" | null>(null);
  const dialog = { keep: "Keep the split", onClose: () => setOpen(null) };
  return (
    <span className="row">
      <button
        type="button"
        className="btn sm"
        disabled={!mayApply}
        onClick={() => void onSet(percent).catch(() => {})}
      >
        Apply {percent}%
      </button>
      <button type="button" className="btn sm" onClick={() => setOpen("promote")}>
        Promote canary
      </button>
      <button type="button" className="btn sm ghost" onClick={() => setOpen("end")}>
        End canary
      </button>
      {open === "promote" && (
        <ConfirmDialog
          title={`Promote ${names.canary}?`}
          act="Promote now"
          onAct={() => onSet(100)}
          {...dialog}
        >
          <AllTraffic to={names.canary} />
        </ConfirmDialog>
      )}
      {open === "end" && (
        <ConfirmDialog
          title={`End the canary ${names.canary}?`}
          act="End now"
          onAct={() => onSet(0)}
          {...dialog}
        >
          <AllTraffic to={names.stable} />
        </ConfirmDialog>
      )}
    </span>
  );
}

function AllTraffic({ to }: { to: string }) {
  return (
    <>
      All traffic moves to {to} within seconds, and the split ends. Runs under way end on the
      revision that they began on.
    </>
  );
}
