import type { RunStats } from "../../../traces/stats/stats-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import type { KnownValues } from "../../traces/completion.ts";

export type FacetChoice = { label: string; query: string; count: number };

const FIELD_OF: Record<string, string> = { tag: "tags" };
const MAX_FACETS = 6;

type Body = Record<string, unknown>;

/** Returns frequent values of the matching runs: as conditions that can be added, and for the completion of filters. */
export function useFacets(body: Body): { facets: FacetChoice[]; known: KnownValues } {
  const { data } = useApiQuery<Partial<RunStats>>(apiPath`/api/v1/runs/stats`, {
    post: { ...body, select: ["run_facets"] },
    keepPrevious: true,
  });
  const found = data?.run_facets ?? [];
  const known: KnownValues = {};
  for (const { key, value } of found) {
    const field = FIELD_OF[key] ?? key;
    known[field] = [...(known[field] ?? []), JSON.stringify(value)];
  }
  const facets = found
    .filter(({ key }) => key !== "run_type")
    .map(({ key, value, query, n }) => {
      return { label: key === "status" ? wordOf(value) : `${key} ${value}`, query, count: n };
    });
  return { facets: facets.slice(0, MAX_FACETS), known };
}

function wordOf(status: string): string {
  return { error: "failed", success: "succeeded", pending: "running" }[status] ?? status;
}
