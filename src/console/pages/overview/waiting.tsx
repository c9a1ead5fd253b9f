import { Link } from "@tanstack/react-router";
import type { z } from "zod";
import type { FoundThread } from "../../../agent-server/threads/directory/thread-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQueries, useWorkspaceId } from "../../api/hooks.ts";
import { pathTo } from "../../state/path.ts";
import { Panel } from "../../ui/panel.tsx";
import { StatusIcon } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";
import { questionOf } from "./question.ts";

type ThreadRow = z.infer<typeof FoundThread>;
type Item = { deployment: Deployment; thread: ThreadRow };

const POLL_MS = 5000;
/** Deployments whose threads are searched: one request each. */
const SEARCHED = 20;
const SHOWN = 8;
const PER_DEPLOYMENT = 10;

/** Interrupted threads, the oldest first. */
export function Waiting({ deployments }: { deployments: Deployment[] }) {
  const searched = deployments
    .filter(({ active_revision_id }) => active_revision_id)
    .slice(0, SEARCHED);
  const results = useApiQueries<ThreadRow[]>(
    searched.map(({ id }) => ({
      path: `/agents/${id}/threads/search`,
      post: {
        status: "interrupted",
        limit: PER_DEPLOYMENT,
        sort_by: "updated_at",
        sort_order: "asc",
      },
      headers: { "x-auth-scheme": "langsmith" },
      poll: POLL_MS,
    })),
  );
  const items = searched
    .flatMap((deployment, index) =>
      (results[index]?.data ?? []).map((thread): Item => ({ deployment, thread })),
    )
    .sort((one, other) => ageKey(one) - ageKey(other));
  const unread = searched.filter((_, index) => results[index]?.isError);
  return (
    <Panel
      title={
        <span className="row">
          <span className="wait">
            <StatusIcon kind="waiting" />
          </span>
          Waiting for a person
          {items.length > 0 && <span className="count wait">{items.length}</span>}
        </span>
      }
      footer={footerText(unread, deployments.length)}
    >
      {items.length === 0 ? (
        <p className="in-p dim">No thread waits for a person.</p>
      ) : (
        <ul>
          {items.slice(0, SHOWN).map((item) => (
            <Row key={item.thread.thread_id} item={item} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ageKey({ thread }: Item): number {
  return Date.parse(thread.updated_at ?? "") || 0;
}

function footerText(unread: Deployment[], total: number): string | undefined {
  if (unread.length > 0) return `Not read: ${unread.map(({ name }) => name).join(", ")}.`;
  return total > SEARCHED ? `Of the first ${SEARCHED} of ${total} deployments.` : undefined;
}

function Row({ item: { deployment, thread } }: { item: Item }) {
  const workspace = useWorkspaceId();
  return (
    <li className="row in-p border-b border-line-soft">
      <span className="grow">
        <span className="m cut block">{questionOf(thread.interrupts)}</span>
        <span className="dim sm cut block">
          {deployment.name} <span aria-hidden="true">•</span>{" "}
          <code title={thread.thread_id}>{thread.thread_id?.slice(0, 8)}</code>
        </span>
      </span>
      <span className="dim sm">
        <Time at={thread.updated_at ?? null} />
      </span>
      <Link className="btn sm" to={pathTo(workspace, `/deployments/${deployment.id}`)}>
        Open deployment
      </Link>
    </li>
  );
}
