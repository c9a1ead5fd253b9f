import type { UseQueryResult } from "@tanstack/react-query";
import type { Destination } from "../../exports/destination-schema.ts";
import type { BulkExport } from "../../exports/schema.ts";
import type { Project } from "../../traces/projects/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath, under } from "../api/path.ts";
import { useMay, useMe } from "../api/session.ts";
import { shortId } from "../ui/formats.ts";

export const EXPORTS = apiPath`/api/v1/bulk-exports`;
export const DESTINATIONS = under(EXPORTS)`/destinations`;
export const PROJECTS = apiPath`/api/v1/sessions`;

/** Largest number of projects that one request returns. */
export const MAX_PROJECTS = 100;

/**
 * Returns a function from the id of a project to its name. It returns the short id before the read, for a deleted
 * project, and for exports of more than `MAX_PROJECTS` projects.
 */
export function useProjectNames(rows: Pick<BulkExport, "session_id">[]): (id: string) => string {
  const ids = [...new Set(rows.map(({ session_id }) => session_id))].sort();
  const { data = [] } = useApiQuery<Project[]>(PROJECTS, {
    query: { id: ids.slice(0, MAX_PROJECTS), limit: MAX_PROJECTS },
    enabled: ids.length > 0,
    keepPrevious: true,
  });
  return (id) => data.find((project) => project.id === id)?.name ?? shortId(id);
}

/** Reads the newest `MAX_PROJECTS` projects. */
export function useProjects(): UseQueryResult<Project[]> {
  return useApiQuery<Project[]>(PROJECTS, { query: { limit: MAX_PROJECTS } });
}

export function useDestinations(): UseQueryResult<Destination[]> {
  return useApiQuery<Destination[]>(DESTINATIONS);
}

/** Returns the URL of a bucket with the prefix. */
export function bucketUrl({ config }: Pick<Destination, "config">): string {
  const { bucket_name, prefix } = config;
  return `s3://${bucket_name}${prefix === "" ? "" : `/${prefix.replace(/^\/+|\/+$/g, "")}`}`;
}

/** Whether the person may create exports: admins of a paid plan may. */
export function useMayExport(): boolean {
  const isPaid = useMe().organization.plan !== "developer";
  return useMay("admin") && isPaid;
}

/** @returns why a control of exports is missing, `null` when it is shown */
export function useWhyNotExport(): string | null {
  const isAdmin = useMay("admin");
  const { plan } = useMe().organization;
  if (plan === "developer") return "Exports need the plan Plus or Enterprise.";
  return isAdmin ? null : "Admins of the workspace create exports.";
}
