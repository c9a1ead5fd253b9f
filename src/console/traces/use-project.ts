import type { UseQueryResult } from "@tanstack/react-query";
import type { Project } from "../../traces/projects/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { lastListOf } from "./last-list.ts";
import { MAX_PROJECTS } from "./project-groups.ts";

export type Projects = {
  /** The read that the project waits for. */
  query: UseQueryResult<Project[]>;
  projects: Project[];
  project: Project | undefined;
};

/**
 * Returns the project of the address, which may be unknown. Without one in the address, returns the last project of
 * this tab, otherwise the project that was traced last.
 */
export function useProject(id: string | undefined): Projects {
  const listed = useApiQuery<Project[]>(apiPath`/api/v1/sessions`, {
    query: { limit: MAX_PROJECTS },
  });
  const isBeyond = id !== undefined && listed.data?.every((one) => one.id !== id) === true;
  const beyond = useApiQuery<Project[]>(isBeyond ? apiPath`/api/v1/sessions` : null, {
    query: { id },
  });
  const projects = [...(isBeyond ? (beyond.data ?? []) : []), ...(listed.data ?? [])];
  const named = id ?? lastListOf(undefined).project;
  const byTime = [...projects].sort((a, b) => timeOf(b) - timeOf(a));
  return {
    query: isBeyond ? beyond : listed,
    projects,
    project: projects.find((one) => one.id === named) ?? (id === undefined ? byTime[0] : undefined),
  };
}

function timeOf({ last_run_start_time }: Project): number {
  return last_run_start_time === null ? 0 : Date.parse(last_run_start_time);
}
