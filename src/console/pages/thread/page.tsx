import { getRouteApi, useRouter } from "@tanstack/react-router";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { EndScroll } from "../../runs/end-scroll.tsx";
import { interruptsOf } from "../../runs/interrupts/interrupts.ts";
import { RunQueue } from "../../runs/run-queue.tsx";
import { showThread } from "../../runs/stream/run-status.ts";
import { ThreadAlerts } from "../../runs/thread-alerts.tsx";
import { ThreadInput } from "../../runs/thread-input.tsx";
import { ThreadMessages } from "../../runs/thread-messages.tsx";
import { type ThreadView, useThread } from "../../runs/use-thread.ts";
import { useThreadActions } from "../../runs/use-thread-actions.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { shortId } from "../../ui/formats.ts";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { Empty } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { CheckpointStrip } from "./checkpoint-strip.tsx";
import { DetailsTab } from "./details-tab.tsx";
import { StateTab } from "./state-tab.tsx";
import { type CheckpointView, useCheckpoints } from "./use-checkpoints.ts";

const route = getRouteApi("/w/$workspace/threads/$deployment/$thread");

export function ThreadPage() {
  const { deployment, thread } = route.useParams();
  return <Page key={`${deployment} ${thread}`} deployment={deployment} id={thread} />;
}

function Page({ deployment, id }: { deployment: string; id: string }) {
  const view = useThread(deployment, id);
  const agent = useAgentName(deployment);
  return (
    <>
      <TopBar
        above={[{ label: "Threads", path: "/threads", search: { deployment } }]}
        title={shortId(id)}
      >
        <ThreadStatus view={view} />
        <span className="sm dim hide-m cut">{agent}</span>
        <LivePill
          state={view.stream.state === "off" ? "off" : liveStateOf(view.runs)}
          title="Runs are read every 2 s; the run in progress is streamed"
        />
      </TopBar>
      <QueryState query={view.thread} what="The thread could not be read">
        {() => <Found view={view} thread_id={id} agent={agent} />}
      </QueryState>
    </>
  );
}

function useAgentName(deployment: string): string {
  const [id = ""] = deployment.split("@");
  const { data } = useApiQuery<Deployment>(apiPath`/v2/deployments/${id}`);
  return data?.display_name ?? data?.name ?? "agent";
}

function ThreadStatus({ view: { active, thread, inOrder } }: { view: ThreadView }) {
  if (thread.data === undefined) return null;
  const { kind, word } =
    active === null
      ? showThread(thread.data, inOrder.at(-1)?.status)
      : showThread({ status: "busy" });
  return (
    <Status kind={kind} plain={kind === "idle"}>
      {kind === "waiting" ? "Waiting for a person" : word}
    </Status>
  );
}

type FoundProps = { view: ThreadView; thread_id: string; agent: string };

function Found({ view, thread_id, agent }: FoundProps) {
  const { deployment, inOrder, active } = view;
  const { cp } = route.useSearch();
  const navigate = route.useNavigate();
  const mayWrite = useMay("write");
  const actions = useThreadActions(deployment, thread_id);
  const checkpoints = useCheckpoints(deployment, thread_id, cp);
  const { chosen, state } = checkpoints;
  const router = useRouter();
  const choose = (id: string | undefined) => {
    // A run may be accepted after the person has left for another page, which has no parameters of this route.
    if (!router.latestLocation.pathname.endsWith(thread_id)) return;
    void navigate({ search: (former) => ({ ...former, cp: id }), replace: true });
  };
  const isWaiting = active === null && interruptsOf(view.state.data ?? {}).length > 0;
  const assistant_id = inOrder.at(-1)?.assistant_id;
  const fork = () => {
    if (assistant_id === undefined || chosen === null) return;
    const run = { assistant_id, input: null, checkpoint_id: chosen.id };
    actions.start.mutate(run, { onSuccess: () => choose(undefined) });
  };
  return (
    <div className="thr">
      <h1 className="sr" tabIndex={-1}>
        Thread {shortId(thread_id)} of {agent}
      </h1>
      <section className="conv" aria-label="Conversation">
        <CheckpointStrip
          view={checkpoints}
          runs={inOrder}
          isWaiting={isWaiting}
          onChoose={choose}
          onFork={mayWrite && chosen !== null && assistant_id !== undefined ? fork : undefined}
          isForking={actions.start.isPending}
        />
        <EndScroll>
          <ThreadMessages
            view={view}
            agent={agent}
            {...(chosen !== null && state !== undefined && { at: state.values })}
            empty={<NoMessages view={view} />}
          />
          {chosen === null && <ThreadAlerts view={view} actions={actions} />}
        </EndScroll>
        <ThreadInput
          view={view}
          actions={actions}
          assistant_id={assistant_id}
          checkpoint_id={checkpoints.wanted}
          onStarted={() => choose(undefined)}
        />
      </section>
      <Side {...{ view, thread_id, checkpoints, actions, isWaiting }} />
    </div>
  );
}

/** Shows that the conversation is empty, or why the state could not be read. */
function NoMessages({ view: { state } }: { view: ThreadView }) {
  return (
    <QueryState query={state} what="The state could not be read">
      {() => <Empty title="Nothing yet">Messages and state appear with the first run.</Empty>}
    </QueryState>
  );
}

const TABS = [
  ["state", "State"],
  ["details", "Details"],
] as const;

type SideProps = {
  view: ThreadView;
  thread_id: string;
  checkpoints: CheckpointView;
  actions: ReturnType<typeof useThreadActions>;
  isWaiting: boolean;
};

function Side({ view, thread_id, checkpoints, actions, isWaiting }: SideProps) {
  const { tab = "state" } = route.useSearch();
  const navigate = route.useNavigate();
  const mayWrite = useMay("write");
  const choose = (chosen: (typeof TABS)[number][0]) =>
    void navigate({
      search: (former) => ({ ...former, tab: chosen === "state" ? undefined : chosen }),
      replace: true,
    });
  return (
    <aside className="side" aria-label="Thread details">
      <RunQueue
        runs={view.inOrder}
        error={view.runs.error}
        isWaiting={isWaiting}
        requests={checkpoints.requests}
        onCancel={
          mayWrite ? (run_id, action) => actions.cancel.mutateAsync({ run_id, action }) : undefined
        }
      />
      <Tabs label="Thread" tabs={TABS} chosen={tab} onChoose={choose} />
      <div className="stt">
        {tab === "details" ? (
          <DetailsTab view={view} thread_id={thread_id} mayDelete={mayWrite} />
        ) : (
          <StateTab view={checkpoints} actions={mayWrite ? actions : null} />
        )}
      </div>
    </aside>
  );
}
