import { getRouteApi } from "@tanstack/react-router";
import type { Project } from "../../../traces/projects/schema.ts";
import { ProjectOptions } from "../../traces/project-options.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import type { GroupName, MonitorSearch } from "./search.ts";

const route = getRouteApi("/w/$workspace/monitor");

const GROUPS: Record<GroupName, string> = {
  name: "Group by name",
  revision: "Group by revision",
  tag: "Group by tag",
  metadata: "Group by metadata",
};

type Props = {
  projects: Project[];
  project: Project;
  change: (search: MonitorSearch) => void;
};

export function Filters({ projects, project, change }: Props) {
  const { group, key, runs } = route.useSearch();
  return (
    <div className="bar">
      <select
        className="in auto"
        aria-label="Project"
        value={project.id}
        onChange={(event) => change({ project: event.target.value })}
      >
        <ProjectOptions projects={projects} />
      </select>
      <select
        className="in auto"
        aria-label="Runs"
        value={runs ?? "root"}
        onChange={(event) => change({ runs: event.target.value === "all" ? "all" : undefined })}
      >
        <option value="root">Root runs</option>
        <option value="all">All runs</option>
      </select>
      <select
        className="in auto"
        aria-label="Group by"
        value={group ?? ""}
        onChange={(event) =>
          change({ group: (event.target.value || undefined) as GroupName | undefined })
        }
      >
        <option value="">All together</option>
        {Object.entries(GROUPS).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      {group === "metadata" && (
        <SearchField
          label="Key of the metadata"
          value={key ?? ""}
          onChange={(text) => change({ key: text || undefined })}
        />
      )}
    </div>
  );
}
