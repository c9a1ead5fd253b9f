import { Link } from "@tanstack/react-router";
import type { WaitingThreads } from "../../../agent-server/threads/api/inbox/inbox-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { questionOf } from "../../runs/question.ts";
import { pathTo } from "../../state/path.ts";
import { formatCount, shortId } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { StatusIcon } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";

type WaitingThread = WaitingThreads["threads"][number];

const POLL_MS = 5000;
const SHOWN = 8;

/** Lists the threads of the workspace that wait for a person, the longest wait first. */
export function Waiting({ deployments }: { deployments: Deployment[] }) {
  const { data, error, refetch } = useApiQuery<WaitingThreads>(apiPath`/v1/interrupts`, {
    query: { limit: SHOWN },
    poll: POLL_MS,
  });
  const total = data?.total ?? 0;
  const names = new Map(deployments.map(({ id, name }) => [id, name]));
  return (
    <Panel
      title={
        <span className="row">
          <span className="wait">
            <StatusIcon kind="waiting" />
          </span>
          Waiting for a person
          {total > 0 && <span className="count wait">{total}</span>}
        </span>
      }
      footer={data && footerText(data, names)}
    >
      {error && !data && (
        <ErrorState
          what="The waiting threads could not be read"
          error={error}
          retry={() => void refetch()}
        />
      )}
      {data?.threads.length === 0 && <p className="in-p dim">No thread waits for a person.</p>}
      <ul>
        {data?.threads.map((thread) => (
          <Row
            key={`${thread.deployment_id} ${thread.thread_id}`}
            thread={thread}
            name={names.get(thread.deployment_id) ?? thread.deployment_id}
          />
        ))}
      </ul>
    </Panel>
  );
}

function footerText(
  { threads, total, withheld_deployments }: WaitingThreads,
  names: Map<string, string>,
): string | undefined {
  const texts: string[] = [];
  if (total > threads.length) {
    texts.push(`The longest wait first: ${threads.length} of ${formatCount(total, "thread")}.`);
  }
  if (withheld_deployments.length > 0) {
    const withheld = withheld_deployments.map((id) => names.get(id) ?? id).join(", ");
    texts.push(`Not listed: ${withheld}, which authenticate their own users or serve nothing.`);
  }
  return texts.length > 0 ? texts.join(" ") : undefined;
}

function Row({ thread, name }: { thread: WaitingThread; name: string }) {
  const workspace = useWorkspaceId();
  const { deployment_id, thread_id, interrupts, waiting_since } = thread;
  return (
    <li className="row in-p border-b border-line-soft">
      <span className="grow">
        <span className="m cut block">{questionOf(interrupts)}</span>
        <span className="dim sm cut block">
          {name} <span aria-hidden="true">•</span>{" "}
          <code title={thread_id}>{shortId(thread_id)}</code>
        </span>
      </span>
      <span className="dim sm">
        <Time at={waiting_since} />
      </span>
      <Link className="btn sm" to={pathTo(workspace, `/threads/${deployment_id}/${thread_id}`)}>
        Review
      </Link>
    </li>
  );
}
