import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useMay } from "../../api/session.ts";
import { EndScroll } from "../../runs/end-scroll.tsx";
import { ThreadAlerts } from "../../runs/thread-alerts.tsx";
import { ThreadMessages } from "../../runs/thread-messages.tsx";
import { type ThreadView, useThread } from "../../runs/use-thread.ts";
import { useThreadActions } from "../../runs/use-thread-actions.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { LivePill } from "../../ui/live-pill.tsx";
import { Empty } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { PlaygroundBar } from "./bar.tsx";
import { PlaygroundInput } from "./input.tsx";
import { PlaygroundSide } from "./side.tsx";
import type { Target } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

type Props = { target: Target; assistant: Assistant; assistants: Assistant[] };

/** A thread with an assistant. The thread is created with its first run. */
export function Session({ target, assistant, assistants }: Props) {
  const { thread } = route.useSearch();
  // Id of the thread that the first run creates.
  const [newThread, setNewThread] = useState(() => crypto.randomUUID());
  const view = useThread(target.ref, thread ?? null, { replays: true });
  const actions = useThreadActions(target.ref, thread ?? newThread);
  const isStreaming = view.active !== null;
  return (
    <>
      <TopBar title="Playground">
        {thread && <ThreadLink deployment={target.deployment} thread_id={thread} />}
        <LivePill
          state={view.stream.state === "off" ? "off" : "live"}
          note={isStreaming ? "a run is in progress" : undefined}
          title="The run in progress is streamed"
        />
      </TopBar>
      <div className="thr">
        <h1 className="sr" tabIndex={-1}>
          Playground
        </h1>
        <section className="conv" aria-label="Chat">
          <PlaygroundBar
            target={target}
            assistant={assistant}
            assistants={assistants}
            onNew={() => setNewThread(crypto.randomUUID())}
          />
          <EndScroll>
            <Messages view={view} assistant={assistant} hasThread={thread !== undefined} />
            {thread && <ThreadAlerts view={view} actions={actions} />}
          </EndScroll>
          <PlaygroundInput
            target={target}
            assistant={assistant}
            view={view}
            actions={actions}
            thread_id={thread ?? newThread}
          />
        </section>
        <PlaygroundSide target={target} assistant={assistant} view={view} />
      </div>
    </>
  );
}

type MessagesProps = { view: ThreadView; assistant: Assistant; hasThread: boolean };

function Messages({ view, assistant, hasThread }: MessagesProps) {
  const mayWrite = useMay("write");
  const { error, data, refetch } = view.thread;
  if (hasThread && error && data === undefined) {
    return (
      <ErrorState what="The thread could not be read" error={error} retry={() => void refetch()} />
    );
  }
  return (
    <ThreadMessages
      view={view}
      agent={assistant.name}
      empty={
        <Empty title={`Talk to ${assistant.name}`}>
          {mayWrite
            ? "The first run creates a thread. The address then names it: a reload continues."
            : "Editors and admins start runs."}
        </Empty>
      }
    />
  );
}

function ThreadLink({ deployment, thread_id }: { deployment: string; thread_id: string }) {
  const { workspace } = route.useParams();
  return (
    <Link className="btn sm ghost" to={pathTo(workspace, `/threads/${deployment}/${thread_id}`)}>
      Open thread
    </Link>
  );
}
