import { and, eq } from "drizzle-orm";
import { z } from "zod";
import { database } from "../../../shared/context.ts";
import type { SourceMap } from "../../../shared/source-maps/stacks.ts";
import { MemoryBudget } from "../../../shared/work/memory-budget.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import { mapKeyOf } from "../../builds/contract.ts";
import { revisions } from "../table.ts";

/** Stored map. It is untrusted, because the isolate of a build wrote it. */
const StoredMap = z.object({
  sources: z.array(z.string()),
  sourcesContent: z.array(z.string().nullable()),
  mappings: z.string(),
});

/** Maximum number of cached maps. A map has up to 16 MB, and an isolate 128 MB. */
const MAX_MAPS = 2;
const TTL_MS = 60_000;
const maps = new TtlCache<SourceMap | null>(TTL_MS, MAX_MAPS);

/** @returns the source map of an artifact, or `null` when it has none */
export async function readSourceMap(
  env: Env,
  artifact_key: string | null,
): Promise<SourceMap | null> {
  if (artifact_key === null) return null;
  const object = await env.ARTIFACTS.get(mapKeyOf(artifact_key));
  const json = await object?.json().catch(() => null);
  return StoredMap.safeParse(json).data ?? null;
}

/**
 * Admits one read at a time, because a budget of no bytes admits one holder: the deliveries of runs that fail together
 * find the map in the cache.
 */
const reads = new MemoryBudget(0);

type RevisionIds = { deployment_id: string; revision_id: string };

/** @returns the source map of a revision, cached: an agent that fails may fail often */
export function sourceMapOf(env: Env, ids: RevisionIds): Promise<SourceMap | null> {
  return reads.hold(async (reserve) => {
    await reserve(1);
    return findSourceMap(env, ids);
  });
}

function findSourceMap(
  env: Env,
  { deployment_id, revision_id }: RevisionIds,
): Promise<SourceMap | null> {
  return maps.get(revision_id, async () => {
    const [row] = await database(env)
      .select({ artifact_key: revisions.artifact_key })
      .from(revisions)
      .where(and(eq(revisions.id, revision_id), eq(revisions.deployment_id, deployment_id)));
    return readSourceMap(env, row?.artifact_key ?? null);
  });
}
