import { and, asc, desc, eq, gt, gte, lt, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { containsText } from "../../../shared/storage/letter-case.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { toIso } from "../../../shared/times.ts";
import { findServed } from "../active.ts";
import { isFinished } from "../revisions.ts";
import { findDeployment, findRevision } from "../rows.ts";
import type { RevisionPath } from "../schema.ts";
import { agentLog } from "./agent-log.ts";
import { type LogFilter, nextOffset, toFilter } from "./log-filter.ts";
import { LogPage, type LogQuery } from "./log-schema.ts";
import { build_logs } from "./table.ts";
import type { AgentLine } from "./tail-lines.ts";

export async function listBuildLogs(
  ctx: Context,
  path: RevisionPath,
  query: LogQuery,
): Promise<LogPage> {
  assertMay(ctx, "read");
  const filter = toFilter(query);
  const revision = await findRevision(ctx, path);
  const rows = await ctx.db
    .select()
    .from(build_logs)
    .where(
      and(eq(build_logs.revision_id, revision.id), inWorkspace(ctx, build_logs), matches(filter)),
    )
    .orderBy((filter.is_up ? asc : desc)(build_logs.id))
    .limit(filter.limit);
  const logs = rows.map((row) => ({ ...row, id: String(row.id) }));
  return LogPage.parse({
    logs,
    next_offset: nextOffset(logs, filter, !isFinished(revision.status)),
  });
}

function matches({ is_up, after, level, text, from_us, to_us }: LogFilter) {
  return and(
    after === null ? undefined : (is_up ? gt : lt)(build_logs.id, after),
    level === null ? undefined : sql`${build_logs.level} = ${level}`,
    text === null ? undefined : containsText(build_logs.message, text),
    from_us === null ? undefined : gte(build_logs.timestamp, toIso(from_us)),
    to_us === null ? undefined : lt(build_logs.timestamp, toIso(to_us)),
  );
}

/** Returns the log of the agents of a revision, or of the whole deployment. */
export async function listAgentLogs(
  ctx: Context,
  path: { deployment_id: string; revision_id?: string },
  query: LogQuery,
): Promise<LogPage> {
  assertMay(ctx, "read");
  const filter = toFilter(query);
  const { deployment_id, revision_id = null } = path;
  if (revision_id === null) await findDeployment(ctx, deployment_id);
  else await findRevision(ctx, { deployment_id, revision_id });
  const logs = await agentLog(ctx.env, deployment_id).list(revision_id, filter);
  return LogPage.parse({ logs, next_offset: nextOffset(logs, filter, true) });
}

/**
 * Appends a line by Heddle to the log of a deployment's agents. Drops a line with the key of an earlier one, and any
 * line of a deployment that does not serve.
 */
export async function appendAgentLog(
  env: Env,
  deployment_id: string,
  line: Pick<AgentLine, "level" | "message"> & { key: string },
): Promise<void> {
  const revision = await findServed(env, deployment_id, null);
  if (revision === null) return;
  const { revision_id } = revision;
  const at_us = Date.now() * 1000;
  await agentLog(env, deployment_id).append(deployment_id, [{ ...line, revision_id, at_us }]);
}
