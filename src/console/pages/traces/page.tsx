import { getRouteApi } from "@tanstack/react-router";
import type { Project } from "../../../traces/projects/schema.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { useProject } from "../../traces/use-project.ts";
import { Empty } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { TraceSearchView } from "./search-view.tsx";

const route = getRouteApi("/w/$workspace/traces");

export function TracesPage() {
  const { project: id } = route.useSearch();
  const { query, projects, project } = useProject(id);
  return (
    <>
      <h1 tabIndex={-1} className="sr">
        Traces
      </h1>
      {project === undefined && <TopBar title="Traces" />}
      <QueryState query={query} what="The projects could not be read">
        {() => <Found projects={projects} project={project} id={id} />}
      </QueryState>
    </>
  );
}

type FoundProps = { projects: Project[]; project: Project | undefined; id: string | undefined };

function Found({ projects, project, id }: FoundProps) {
  if (project) return <TraceSearchView key={project.id} project={project} projects={projects} />;
  if (id !== undefined) {
    return (
      <Empty
        title="No such project"
        action={
          <route.Link to="." search={{}} className="btn">
            Open the latest project
          </route.Link>
        }
      >
        No project that you may read has the id{" "}
        <code className="break-all">{id.slice(0, 100)}</code>.
      </Empty>
    );
  }
  return (
    <Empty title="No traces yet">
      Each deployment traces its agents. Other programs send traces with the langsmith SDK, by
      LANGSMITH_ENDPOINT and an API key.
    </Empty>
  );
}
