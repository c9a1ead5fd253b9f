import type { DeploymentsList } from "../../control-plane/deployments/schema.ts";
import type { Project } from "../../traces/projects/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { cutText } from "../ui/formats.ts";
import { groupProjects, MAX_DEPLOYMENTS, MAX_PROJECTS } from "./project-groups.ts";

const MAX_NAME = 100;

/** Options of a `select` for projects. Projects that no deployment traces to are the last group. */
export function ProjectOptions({ projects }: { projects: Project[] }) {
  const { data } = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: MAX_DEPLOYMENTS },
  });
  const groups = groupProjects(projects, data?.resources ?? []);
  return (
    <>
      {groups === null ? (
        <Options projects={projects} />
      ) : (
        groups.map((group) => (
          <optgroup key={group.label} label={group.label}>
            <Options projects={group.projects} />
          </optgroup>
        ))
      )}
      {projects.length >= MAX_PROJECTS && <option disabled>Others are not listed</option>}
    </>
  );
}

function Options({ projects }: { projects: Project[] }) {
  return projects.map(({ id, name }) => (
    <option key={id} value={id}>
      {cutText(name, MAX_NAME)}
    </option>
  ));
}
