import { and, asc, desc, eq, gt, gte, lt, sql } from "drizzle-orm";
import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { invalid } from "../shared/errors.ts";
import { LogPage, type LogQuery } from "./log-schema.ts";
import { isFinished } from "./revisions.ts";
import { findRevision } from "./rows.ts";
import type { RevisionPath } from "./schema.ts";
import { build_logs } from "./table.ts";

/** An offset is the id of the last line seen: new lines never move a page. */
export async function listBuildLogs(
  ctx: Context,
  path: RevisionPath,
  query: LogQuery,
): Promise<LogPage> {
  assertMay(ctx, "read");
  const after = toLineId(query.offset);
  const revision = await findRevision(ctx, path);
  const isUp = query.order === "asc";
  const rows = await ctx.db
    .select()
    .from(build_logs)
    .where(
      and(
        eq(build_logs.revision_id, revision.id),
        eq(build_logs.workspace_id, ctx.caller.workspace_id),
        after === null ? undefined : (isUp ? gt : lt)(build_logs.id, after),
        matches(query),
      ),
    )
    .orderBy((isUp ? asc : desc)(build_logs.id))
    .limit(query.limit);
  const logs = rows.map((row) => ({ ...row, id: String(row.id) }));
  const mayGrow = isUp && !isFinished(revision.status);
  const isLast = logs.length < query.limit && !mayGrow;
  return LogPage.parse({ logs, next_offset: isLast ? null : nextOffset(logs, query) });
}

function nextOffset(logs: readonly { id: string }[], query: LogQuery): string | null {
  return logs.at(-1)?.id ?? query.offset ?? null;
}

function matches({ level, query, start_time, end_time }: LogQuery) {
  return and(
    level == null ? undefined : sql`${build_logs.level} = ${level}`,
    query == null || query === ""
      ? undefined
      : sql`instr(lower(${build_logs.message}), ${query.toLowerCase()}) > 0`,
    start_time == null ? undefined : gte(build_logs.timestamp, new Date(start_time).toISOString()),
    end_time == null ? undefined : lt(build_logs.timestamp, new Date(end_time).toISOString()),
  );
}

function toLineId(offset: string | null | undefined): number | null {
  if (offset == null) return null;
  if (/^\d{1,15}$/.test(offset)) return Number(offset);
  throw invalid(["body", "offset"], "Invalid or expired offset");
}
