import type { Deployment } from "../../control-plane/deployments/schema.ts";

type Project = { id: string; name: string };

export type ProjectGroup<P> = {
  /** Label of an `optgroup`. */
  label: string;
  projects: P[];
};

/** Largest number of projects that a list reads. A list of this length may be incomplete. */
export const MAX_PROJECTS = 100;

/** Largest number of deployments that a list reads. A list of this length may be incomplete. */
export const MAX_DEPLOYMENTS = 100;

/**
 * Returns the projects of deployments first. The others are of a deleted deployment, or of a program that sends traces
 * itself.
 * @param deployments the deployments of the workspace, up to `MAX_DEPLOYMENTS`
 * @returns `null` when one group would have all projects, or when there may be more deployments
 */
export function groupProjects<P extends Project>(
  projects: P[],
  deployments: Pick<Deployment, "tracing_project_id">[],
): ProjectGroup<P>[] | null {
  if (deployments.length >= MAX_DEPLOYMENTS) return null;
  const traced = new Set(deployments.map(({ tracing_project_id }) => tracing_project_id));
  const deployed = projects.filter(({ id }) => traced.has(id));
  const others = projects.filter(({ id }) => !traced.has(id));
  if (deployed.length === 0 || others.length === 0) return null;
  return [
    { label: "Deployments", projects: deployed },
    { label: "Without a deployment", projects: others },
  ];
}
