import { and, desc, eq, gte, lt, or, type SQL, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { principalIdOf } from "../../../shared/http/rate-limit.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { toIso, toMicros } from "../../../shared/times.ts";
import { api_keys, audit_logs, users } from "../table.ts";
import { AuditLog, type AuditLogsList, type AuditLogsQuery } from "./audit-schema.ts";
import type { AuditedChange } from "./changes.ts";

export async function recordChange({ db, caller }: Context, change: AuditedChange): Promise<void> {
  const { actor, workspace_id } = caller;
  await db.insert(audit_logs).values({
    id: newId(),
    workspace_id,
    created_at: new Date().toISOString(),
    // Unreachable for users of agents: paths of agents are not audited.
    actor_type: actor.type === "agent_user" ? ("user" as const) : actor.type,
    actor_id: principalIdOf(actor),
    user_id: "user_id" in actor ? actor.user_id : null,
    ...change,
  });
}

/** Lists entries, newest first: ids grow with time. */
export async function listAuditLogs(ctx: Context, query: AuditLogsQuery): Promise<AuditLogsList> {
  assertMay(ctx, "admin");
  const rows = await ctx.db
    .select({
      entry: audit_logs,
      email: users.email,
      description: api_keys.description,
      prefix: api_keys.prefix,
    })
    .from(audit_logs)
    .leftJoin(users, eq(users.id, audit_logs.user_id))
    .leftJoin(api_keys, eq(api_keys.id, audit_logs.actor_id))
    .where(and(inWorkspace(ctx, audit_logs), ...conditions(query)))
    .orderBy(desc(audit_logs.id))
    .limit(query.limit + 1);
  const page = rows.slice(0, query.limit);
  const next_cursor = rows.length > query.limit ? (page.at(-1)?.entry.id ?? null) : null;
  const resources = page.map(({ entry, email, description, prefix }) => {
    const key = description || (prefix && `${prefix}...`);
    return AuditLog.parse({ ...entry, actor_name: email ?? key ?? null });
  });
  return { resources, next_cursor };
}

function conditions(query: AuditLogsQuery): (SQL | undefined)[] {
  const { cursor, action, actor_id, resource_id, start_time, end_time } = query;
  return [
    cursor === undefined ? undefined : lt(audit_logs.id, cursor),
    action === undefined ? undefined : eq(audit_logs.action, action),
    actor_id === undefined
      ? undefined
      : or(eq(audit_logs.actor_id, actor_id), eq(audit_logs.user_id, actor_id)),
    resource_id === undefined ? undefined : hasResource(resource_id),
    start_time === undefined ? undefined : gte(audit_logs.created_at, isoOf(start_time)),
    end_time === undefined ? undefined : lt(audit_logs.created_at, isoOf(end_time)),
  ];
}

function hasResource(id: string): SQL {
  return sql`EXISTS (SELECT 1 FROM json_each(${audit_logs.resources}) WHERE json_each.value ->> 'id' = ${id})`;
}

/** Normalizes a time, so that it compares as text with `created_at`. */
function isoOf(time: string): string {
  return toIso(toMicros(time) ?? 0);
}
