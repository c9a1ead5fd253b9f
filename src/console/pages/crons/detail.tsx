import { useState } from "react";
import type { CronFiring, FoundCron } from "../../../agent-server/crons/schema.ts";
import { useApiChange, useApiQuery } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { Id } from "../../ui/copy-button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status, type StatusKind } from "../../ui/status.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { Time } from "../../ui/values.tsx";
import { NextRun } from "./next-run.tsx";

type Props = { cron: FoundCron; path: string; isPaused: boolean };

const POLL_MS = 3000;

/** A cron: its next run, its last firings, its input. */
export function CronDetail({ cron, path, isPaused }: Props) {
  const mayWrite = useMay("write");
  return (
    <div className="stack" key={cron.cron_id}>
      <Panel
        title={<span className="mono">{cron.schedule}</span>}
        end={mayWrite && <CronActions cron={cron} path={path} />}
      >
        <dl className="kv in-p">
          <dt>Next run</dt>
          <dd>
            <NextRun cron={cron} />
          </dd>
          <dt>Ends</dt>
          <dd>{cron.end_time ? <Time at={cron.end_time} exact /> : "never"}</dd>
          <dt>Thread</dt>
          <dd>
            {cron.thread_id ? (
              <Id id={cron.thread_id} length={36} />
            ) : (
              `new for each run, then ${cron.on_run_completed === "keep" ? "kept" : "deleted"}`
            )}
          </dd>
          <dt>Assistant</dt>
          <dd>{cron.assistant_id ? <Id id={cron.assistant_id} length={36} /> : "deleted"}</dd>
          <dt>Id</dt>
          <dd>
            <Id id={cron.cron_id ?? ""} length={36} />
          </dd>
        </dl>
      </Panel>
      <Firings path={`${path}/${cron.cron_id}/firings`} isPaused={isPaused} />
      <Panel label="Input and options">
        <div className="in-p">
          <JsonView label="Input and options" value={cron.payload ?? {}} />
        </div>
      </Panel>
    </div>
  );
}

function CronActions({ cron: { cron_id, enabled }, path }: Omit<Props, "isPaused">) {
  const [isDeleting, setDeleting] = useState(false);
  const toast = useToast();
  const one = `${path}/${cron_id}`;
  const fire = useApiChange({ path: `${one}/fire`, invalidates: [path] });
  const change = useApiChange<boolean>({
    method: "PATCH",
    path: one,
    body: (value) => ({ enabled: value }),
    invalidates: [path],
  });
  const error = fire.error ?? change.error;
  return (
    <>
      {error && (
        <span className="err sm" role="alert">
          {error.message}
        </span>
      )}
      <button
        type="button"
        className="btn sm"
        disabled={fire.isPending}
        onClick={() => fire.mutate(undefined, { onSuccess: () => toast("A run started") })}
      >
        <Icon name="play" small /> Run now
      </button>
      <button
        type="button"
        className="btn sm"
        disabled={change.isPending}
        title="Later runs have your rights, as you are the one who changed it last"
        onClick={() => change.mutate(!enabled)}
      >
        <Icon name={enabled ? "pause" : "step"} small /> {enabled ? "Pause" : "Enable"}
      </button>
      <button
        type="button"
        className="btn sm ghost icon"
        aria-label="Delete cron"
        onClick={() => setDeleting(true)}
      >
        <Icon name="trash" small />
      </button>
      {isDeleting && <DeleteCron path={path} one={one} onClose={() => setDeleting(false)} />}
    </>
  );
}

type DeleteProps = { path: string; one: string; onClose: () => void };

function DeleteCron({ path, one, onClose }: DeleteProps) {
  const { mutateAsync } = useApiChange({ method: "DELETE", path: one, invalidates: [path] });
  return (
    <ConfirmDialog
      title="Delete this cron?"
      act="Delete cron"
      keep="Keep it"
      isDestructive
      onAct={() => mutateAsync()}
      onClose={onClose}
    >
      It starts no further run. Runs that it started stay. This cannot be undone: pause it to be
      able to continue.
    </ConfirmDialog>
  );
}

const OUTCOMES: Record<CronFiring["outcome"], { kind: StatusKind; word: string }> = {
  started: { kind: "ok", word: "Started" },
  waiting: { kind: "queued", word: "Tried again" },
  skipped: { kind: "skipped", word: "Skipped" },
  refused: { kind: "failed", word: "Refused" },
  ended: { kind: "cancelled", word: "Ended" },
};

function Firings({ path, isPaused }: { path: string; isPaused: boolean }) {
  const query = useApiQuery<CronFiring[]>(path, { poll: isPaused ? false : POLL_MS });
  return (
    <Panel title="Last firings" footer="Up to 20, the newest first">
      <QueryState query={query} what="The firings could not be read" rows={3}>
        {(firings) =>
          firings.length === 0 ? (
            <p className="in-p dim">It has not fired yet.</p>
          ) : (
            <ul aria-label="Last firings">
              {firings.map((firing) => (
                <FiringRow key={`${firing.scheduled_at} ${firing.is_manual}`} firing={firing} />
              ))}
            </ul>
          )
        }
      </QueryState>
    </Panel>
  );
}

function FiringRow({ firing }: { firing: CronFiring }) {
  const { kind, word } = OUTCOMES[firing.outcome];
  return (
    <li className="in-p border-b border-line-soft row wrap">
      <Status kind={kind} plain={kind === "ok"}>
        {word}
      </Status>
      <Time at={firing.scheduled_at} exact />
      {firing.is_manual && <span className="tag">by hand</span>}
      {firing.run_id !== null && (
        <span className="dim sm">
          run <Id id={firing.run_id} />
        </span>
      )}
      {firing.message !== null && <span className="sm break-words w-full">{firing.message}</span>}
    </li>
  );
}
