import { and, asc, desc, eq, isNull, or, type SQL, sql } from "drizzle-orm";
import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { Context } from "../../../../shared/context.ts";
import type { Filters } from "../../../../shared/filters.ts";
import { contains, fulfils } from "../../../../shared/storage/containment.ts";
import { containsText } from "../../../../shared/storage/letter-case.ts";
import { among, inWorkspace } from "../../../../shared/storage/sql.ts";
import { type AssistantRow, isVersionOf, ownerOf, type VersionRow } from "./assistant-rows.ts";
import type {
  AssistantCount,
  AssistantSearch,
  AssistantVersionsQuery,
} from "./assistant-schema.ts";
import { assistant_versions, assistants } from "./table.ts";

export async function searchRows(
  ctx: Context,
  agent: ActiveRevision,
  query: AssistantSearch,
  filters: Filters | null,
): Promise<AssistantRow[]> {
  const { limit, offset, sort_by = "created_at", sort_order = "desc" } = query;
  const order = sort_order === "asc" ? asc : desc;
  return ctx.db
    .select()
    .from(assistants)
    .where(and(matches(ctx, agent, query), fulfils(assistants.metadata, filters)))
    .orderBy(order(assistants[sort_by]), order(assistants.assistant_id))
    .limit(limit + 1)
    .offset(offset);
}

export async function countRows(
  ctx: Context,
  agent: ActiveRevision,
  query: AssistantCount,
  filters: Filters | null,
) {
  const [row] = await ctx.db
    .select({ count: sql<number>`count(*)` })
    .from(assistants)
    .where(and(matches(ctx, agent, query), fulfils(assistants.metadata, filters)));
  return row?.count ?? 0;
}

/** Hides system assistants of graphs that the revision does not have. */
function matches(
  ctx: Context,
  agent: ActiveRevision,
  { graph_id, name, metadata }: AssistantCount,
) {
  const conditions: (SQL | undefined)[] = [
    eq(assistants.deployment_id, agent.deployment_id),
    inWorkspace(ctx, assistants),
    isNull(assistants.deleted_at),
    or(eq(assistants.is_system, false), among(assistants.graph_id, agent.graphs)),
    graph_id === undefined ? undefined : eq(assistants.graph_id, graph_id),
    name === undefined ? undefined : containsText(assistants.name, name),
    metadata === undefined ? undefined : contains(assistants.metadata, metadata),
  ];
  return and(...conditions);
}

export async function findVersions(
  ctx: Context,
  agent: ActiveRevision,
  assistant_id: string,
  { limit, offset, metadata }: AssistantVersionsQuery,
): Promise<VersionRow[]> {
  return ctx.db
    .select()
    .from(assistant_versions)
    .where(
      and(
        isVersionOf(ownerOf(ctx, agent), assistant_id),
        metadata === undefined ? undefined : contains(assistant_versions.metadata, metadata),
      ),
    )
    .orderBy(desc(assistant_versions.version))
    .limit(limit)
    .offset(offset);
}
