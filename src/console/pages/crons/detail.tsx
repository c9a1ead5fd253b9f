import { useState } from "react";
import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { type ApiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { InlineError } from "../../ui/blocks/inline-error.tsx";
import { DeleteButton, EditButton } from "../../ui/blocks/item-buttons.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { Id, Time } from "../../ui/values.tsx";
import { CronForm } from "./cron-form.tsx";
import { Firings } from "./firings.tsx";
import { NextRun } from "./next-run.tsx";

type Props = { cron: FoundCron; deployment: string; isPaused: boolean };

/** A cron: its next run, its last firings, its input. */
export function CronDetail({ cron, deployment, isPaused }: Props) {
  const mayWrite = useMay("write");
  return (
    <div className="stack" key={cron.cron_id}>
      <Panel
        title={<span className="mono">{cron.schedule}</span>}
        end={mayWrite && <CronActions cron={cron} deployment={deployment} />}
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
              <Id id={cron.thread_id} />
            ) : (
              `new for each run, then ${cron.on_run_completed === "keep" ? "kept" : "deleted"}`
            )}
          </dd>
          <dt>Assistant</dt>
          <dd>{cron.assistant_id ? <Id id={cron.assistant_id} /> : "deleted"}</dd>
          <dt>Id</dt>
          <dd>
            <Id id={cron.cron_id ?? ""} />
          </dd>
        </dl>
      </Panel>
      <Firings deployment={deployment} cron_id={cron.cron_id ?? ""} isPaused={isPaused} />
      <Panel label="Input and options">
        <div className="in-p">
          <JsonView label="Input and options" value={cron.payload ?? {}} />
        </div>
      </Panel>
    </div>
  );
}

function CronActions({ cron, deployment }: Omit<Props, "isPaused">) {
  const { cron_id = "", enabled } = cron;
  const [dialog, setDialog] = useState<"edit" | "delete" | null>(null);
  const close = () => setDialog(null);
  const toast = useToast();
  const path = agentPath(deployment)`/runs/crons`;
  const one = under(path)`/${cron_id}`;
  const fire = useApiChange({ path: under(one)`/fire`, invalidates: [path] });
  const change = useApiChange<boolean>({
    method: "PATCH",
    path: one,
    body: (value) => ({ enabled: value }),
    invalidates: [path],
  });
  const error = fire.error ?? change.error;
  return (
    <>
      <InlineError error={error} />
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
      <EditButton onClick={() => setDialog("edit")} />
      <DeleteButton label="Delete cron" onClick={() => setDialog("delete")} />
      {dialog === "delete" && <DeleteCron path={path} one={one} onClose={close} />}
      {dialog === "edit" && (
        <CronForm deployment={deployment} cron={cron} onSaved={close} onClose={close} />
      )}
    </>
  );
}

type DeleteProps = { path: ApiPath; one: ApiPath; onClose: () => void };

function DeleteCron({ path, one, onClose }: DeleteProps) {
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: one,
    // Only the list: reads of the deleted cron that are open, such as its firings, would be refused.
    invalidates: [under(path)`/search`],
  });
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
