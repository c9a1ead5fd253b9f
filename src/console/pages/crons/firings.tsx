import { Link } from "@tanstack/react-router";
import type { CronFiring } from "../../../agent-server/crons/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { showRun } from "../../runs/stream/run-status.ts";
import { pathTo } from "../../state/path.ts";
import type { StatusKind } from "../../ui/icons/status-kind.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { Id, Time } from "../../ui/values.tsx";

const POLL_MS = 3000;

const OUTCOMES: Record<CronFiring["outcome"], { kind: StatusKind; word: string }> = {
  started: { kind: "ok", word: "Started" },
  waiting: { kind: "queued", word: "Will be tried again" },
  skipped: { kind: "skipped", word: "Skipped" },
  refused: { kind: "failed", word: "Refused" },
  ended: { kind: "cancelled", word: "Ended" },
};

type FiringsProps = { deployment: string; cron_id: string; isPaused: boolean };

/** Lists the last firings of a cron, each with the run that it started. */
export function Firings({ deployment, cron_id, isPaused }: FiringsProps) {
  const path = agentPath(deployment)`/runs/crons/${cron_id}/firings`;
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
                <FiringRow
                  key={`${firing.scheduled_at} ${firing.is_manual}`}
                  firing={firing}
                  deployment={deployment}
                />
              ))}
            </ul>
          )
        }
      </QueryState>
    </Panel>
  );
}

type RowProps = { firing: CronFiring; deployment: string };

function FiringRow({ firing, deployment }: RowProps) {
  const workspace = useWorkspaceId();
  const { kind, word } =
    firing.run_status === null ? OUTCOMES[firing.outcome] : showRun(firing.run_status);
  return (
    <li className="in-p border-b border-line-soft row wrap">
      <Status kind={kind} plain={kind === "ok"}>
        {word}
      </Status>
      <Time at={firing.scheduled_at} exact />
      {firing.is_manual && <span className="tag">by hand</span>}
      {firing.run_id !== null && (
        <span className="dim sm">
          run <Id id={firing.run_id} isShort />
        </span>
      )}
      {firing.run_id !== null && (
        <Link to={pathTo(workspace, `/traces/${firing.run_id}`)} className="sm">
          Trace
        </Link>
      )}
      {firing.thread_id !== null && (
        <Link to={pathTo(workspace, `/threads/${deployment}/${firing.thread_id}`)} className="sm">
          Thread
        </Link>
      )}
      {firing.message !== null && <span className="sm break-words w-full">{firing.message}</span>}
    </li>
  );
}
