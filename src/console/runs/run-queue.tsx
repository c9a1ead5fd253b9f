import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { summaryOf } from "../ui/conversation/model.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { formatCount } from "../ui/formats.ts";
import { ErrorState } from "../ui/states.tsx";
import { StatusIcon, toneOf } from "../ui/status.tsx";
import { Elapsed, Time } from "../ui/values.tsx";
import { answerText } from "./interrupts/answers.ts";
import type { InterruptRequest } from "./interrupts/interrupts.ts";
import type { RunItem } from "./stream/agent.ts";
import { isActive, showRun } from "./stream/run-status.ts";
import { RUNS_SHOWN, runName } from "./use-thread.ts";
import type { CancelMode } from "./use-thread-actions.ts";

type Props = {
  /** The oldest first. */
  runs: RunItem[];
  /** Why the runs could not be read. */
  error: Error | null;
  /** Whether the thread waits for a person: an interrupt ends its run, so the last ended run is shown as waiting. */
  isWaiting: boolean;
  /** Interrupts that the runs may have answered. */
  requests: InterruptRequest[];
  onCancel: ((run_id: string, action: CancelMode) => Promise<unknown>) | undefined;
};

/** Number of ended runs that are listed before the list is opened. */
const ENDED_SHOWN = 4;

/** Runs in the order in which they run: those that ended, the one in progress, and the queue. */
export function RunQueue({ runs, error, isWaiting, requests, onCancel }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<RunItem | null>(null);
  const ended = runs.filter((run) => !isActive(run));
  const hidden = isOpen ? 0 : Math.max(0, ended.length - ENDED_SHOWN);
  const last = ended.at(-1)?.run_id;
  return (
    <section className="sec" aria-label="Runs">
      <div className="ph2">
        <h2>Runs, in order</h2>
      </div>
      <ol className="q">
        {hidden > 0 && (
          <li>
            <button type="button" className="btn sm ghost" onClick={() => setOpen(true)}>
              {formatCount(hidden, "earlier run")}
              {runs.length === RUNS_SHOWN && ` of the newest ${RUNS_SHOWN}`}
            </button>
          </li>
        )}
        {[...ended.slice(hidden), ...runs.filter(isActive)].map((run) => (
          <Row
            key={run.run_id}
            run={run}
            name={runName(runs, run.run_id)}
            text={answerText(run.kwargs, requests) ?? summaryOf(run.kwargs)}
            isWaiting={isWaiting && run.run_id === last}
            onCancel={onCancel && (() => setChosen(run))}
          />
        ))}
        {runs.length === 0 && error === null && <li className="dim">No run yet.</li>}
      </ol>
      {error && <ErrorState what="The runs could not be read" error={error} />}
      {chosen !== null && onCancel && (
        <CancelDialog
          name={runName(runs, chosen.run_id)}
          onCancel={(action) => onCancel(chosen.run_id, action)}
          onClose={() => setChosen(null)}
        />
      )}
    </section>
  );
}

type RowProps = {
  run: RunItem;
  name: string;
  /** Input of the run, or the answer that it resumes with. */
  text: string;
  isWaiting: boolean;
  onCancel: (() => void) | undefined;
};

function Row({ run, name, text, isWaiting, onCancel }: RowProps) {
  const workspace = useWorkspaceId();
  const { run_id, status, created_at } = run;
  const shown = showRun(status);
  const kind = isWaiting ? "waiting" : shown.kind;
  return (
    <li className={isWaiting ? "cur" : ""}>
      <span className={toneOf(kind)} title={isWaiting ? "Waits for a person" : shown.word}>
        <StatusIcon kind={kind} />
        <span className="sr">{isWaiting ? "Waits for a person" : shown.word}</span>
      </span>
      <Link
        to={pathTo(workspace, `/traces/${run_id}`)}
        className="m nw"
        title={`Trace of ${run_id}`}
      >
        {name}
      </Link>
      <span className="dim cut grow" title={text}>
        {isWaiting ? "waits for a person" : text}
      </span>
      <span className="sm dim nw">
        {isActive(run) ? <Elapsed start={created_at} end={null} /> : <Time at={created_at} />}
      </span>
      {isActive(run) && onCancel && (
        <button
          type="button"
          className="btn sm ghost"
          aria-label={`Cancel ${name}`}
          onClick={onCancel}
        >
          Cancel
        </button>
      )}
    </li>
  );
}

type DialogProps = {
  name: string;
  onCancel: (action: CancelMode) => Promise<unknown>;
  onClose: () => void;
};

function CancelDialog({ name, onCancel, onClose }: DialogProps) {
  const [action, setAction] = useState<CancelMode>("interrupt");
  return (
    <ConfirmDialog
      title={`Cancel ${name}?`}
      act={action === "interrupt" ? "Cancel run" : "Roll back run"}
      keep="Let it run"
      isDestructive={action === "rollback"}
      onAct={() => onCancel(action)}
      onClose={onClose}
    >
      <fieldset className="field">
        <legend className="sr">How</legend>
        <label className="check">
          <input
            type="radio"
            name="action"
            checked={action === "interrupt"}
            onChange={() => setAction("interrupt")}
          />
          <span>Cancel: the run ends, and its checkpoints stay.</span>
        </label>
        <label className="check">
          <input
            type="radio"
            name="action"
            checked={action === "rollback"}
            onChange={() => setAction("rollback")}
          />
          <span>
            Roll back: the run and its checkpoints are deleted. The thread is as it was before. This
            cannot be undone.
          </span>
        </label>
      </fieldset>
    </ConfirmDialog>
  );
}
