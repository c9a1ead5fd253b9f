import { isAgentReadable } from "../../agent-server/access/service.ts";
import { findThreads } from "../../agent-server/threads/directory/directory.ts";
import { findExport } from "../../exports/bulk-exports/service.ts";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { assertRate } from "../../shared/http/rate-limit.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { findRun } from "../../traces/query/run-service.ts";
import { deploymentIds, deploymentWith } from "../deployments/api/list-service.ts";
import type { Lookup, LookupMatch } from "./lookup-schema.ts";

const LOOKUPS = { name: "lookup", calls: 60, in_s: 60 };
/** Limits a request, which reads the directory of threads of each deployment: one or more Durable Objects. */
const MAX_DEPLOYMENTS = 500;
const AT_ONCE = 20;
/** Threads are read without their metadata. */
const NO_METADATA = { characters: 0, containers: 0 };

/** Finds the resources of the workspace with an id, for callers that have only the id, for example from a log. */
export async function lookUp(ctx: Context, id: string): Promise<Lookup> {
  assertMay(ctx, "read");
  assertRate(ctx, LOOKUPS);
  const found = await Promise.all([
    findDeployed(ctx, id),
    findThread(ctx, id),
    findTraced(ctx, id),
    findExported(ctx, id),
  ]);
  return { matches: found.flat().filter((match) => match !== null) };
}

async function findDeployed(ctx: Context, id: string): Promise<LookupMatch | null> {
  const deployment_id = await deploymentWith(ctx, id);
  if (deployment_id === null) return null;
  const kind = deployment_id === id ? "deployment" : "revision";
  return { kind, id, deployment_id, trace_id: null };
}

/**
 * Omits threads of agents that authenticate their own users, because members of the workspace may not see them. Also
 * omits threads of deployments that do not serve.
 */
async function findThread(ctx: Context, id: string): Promise<LookupMatch[]> {
  const deployments = await deploymentIds(ctx, MAX_DEPLOYMENTS);
  const found = await mapConcurrent(deployments, AT_ONCE, async (deployment_id) => {
    const query = { ids: [id], limit: 1 };
    const threads = await findThreads(ctx, { deployment_id }, query, NO_METADATA);
    const isFound = threads !== null && threads.length > 0;
    return isFound && (await isAgentReadable(ctx, deployment_id)) ? deployment_id : null;
  });
  return found
    .filter((deployment_id) => deployment_id !== null)
    .map((deployment_id) => ({ kind: "thread", id, deployment_id, trace_id: null }));
}

async function findTraced(ctx: Context, id: string): Promise<LookupMatch | null> {
  const found = await nullIfNotFound(findRun(ctx, id, ["id", "trace_id"]));
  if (found === null) return null;
  return { kind: "traced_run", id, deployment_id: null, trace_id: found.row.trace_id };
}

async function findExported(ctx: Context, id: string): Promise<LookupMatch | null> {
  const found = await nullIfNotFound(findExport(ctx, id));
  return found && { kind: "bulk_export", id, deployment_id: null, trace_id: null };
}
