import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/not-found.ts";
import { useServingDeployment } from "../../runs/use-serving-deployments.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { ErrorState, QueryState, Skeleton } from "../../ui/states.tsx";
import { Session } from "./session.tsx";
import { type Target, useTarget } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

export function PlaygroundPage() {
  const { deployment } = route.useSearch();
  const serving = useServingDeployment(deployment);
  if (serving.chosen !== null) return <Playground key={serving.chosen.id} id={serving.chosen.id} />;
  return (
    <>
      <Heading />
      {serving.isPending && <Skeleton />}
      {serving.error && (
        <ErrorState
          what="The deployments could not be read"
          error={serving.error}
          retry={serving.retry}
        />
      )}
      {!serving.isPending && !serving.error && (
        <Panel>
          <Empty title={deployment ? "This deployment serves nothing" : "No agent serves yet"}>
            Talk to an agent here once a deployment has a revision that serves.
          </Empty>
        </Panel>
      )}
    </>
  );
}

function Heading() {
  return (
    <>
      <TopBar title="Playground" />
      <h1 className="sr">Playground</h1>
    </>
  );
}

function Playground({ id }: { id: string }) {
  const { revision, assistant, thread } = route.useSearch();
  const target = useTarget(id, revision, assistant);
  return (
    <>
      {target.assistant === undefined && <Heading />}
      <QueryState query={target.assistants} what="The assistants could not be read">
        {(all) =>
          target.assistant === undefined ? (
            <NoAssistant target={target} />
          ) : (
            <Session
              key={thread ?? "new"}
              target={target}
              assistant={target.assistant}
              assistants={all.includes(target.assistant) ? all : [...all, target.assistant]}
            />
          )
        }
      </QueryState>
    </>
  );
}

function NoAssistant({ target: { unlisted } }: { target: Target }) {
  const { isLoading, error, refetch } = unlisted;
  if (isLoading) return <Skeleton />;
  if (error !== null && !isNotFound(error)) {
    const retry = () => void refetch();
    return <ErrorState what="The assistant could not be read" error={error} retry={retry} />;
  }
  return (
    <Panel>
      <Empty title="No such assistant">The agent has no assistant with this id.</Empty>
    </Panel>
  );
}
