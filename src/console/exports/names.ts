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

/** Projects of a list. */
export const MAX_PROJECTS = 100;

/** Names of the projects of exports; the id in short for a project that was deleted. */
export function useProjectNames(orders: Pick<BulkExport, "session_id">[]): (id: string) => string {
  const ids = [...new Set(orders.map(({ session_id }) => session_id))].sort();
  const { data = [] } = useApiQuery<Project[]>(PROJECTS, {
    query: { id: ids.slice(0, MAX_PROJECTS), limit: MAX_PROJECTS },
    enabled: ids.length > 0,
    keepPrevious: true,
  });
  return (id) => data.find((project) => project.id === id)?.name ?? shortId(id);
}

/** The newest projects. */
export function useProjects(): UseQueryResult<Project[]> {
  return useApiQuery<Project[]>(PROJECTS, { query: { limit: MAX_PROJECTS } });
}

export function useDestinations(): UseQueryResult<Destination[]> {
  return useApiQuery<Destination[]>(DESTINATIONS);
}

/** The URL of a bucket with the prefix. */
export function bucketUrl({ config }: Pick<Destination, "config">): string {
  const { bucket_name, prefix } = config;
  return `s3://${bucket_name}${prefix === "" ? "" : `/${prefix.replace(/^\/+|\/+$/g, "")}`}`;
}

/** Exports are for admins of a paid plan. */
export function useMayExport(): boolean {
  const isPaid = useMe().organization.plan !== "developer";
  return useMay("admin") && isPaid;
}

/** Why a control of exports is missing, `null` when it is not. */
export function useWhyNotExport(): string | null {
  const isAdmin = useMay("admin");
  const { plan } = useMe().organization;
  if (plan === "developer") return "Exports need the plan Plus or Enterprise.";
  return isAdmin ? null : "Admins of the workspace create exports.";
}
