import { eq, lte, sql } from "drizzle-orm";
import { type Database, database } from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { forgetCallers } from "./caller-cache.ts";
import { ended_sessions } from "./table.ts";

type EndedSession = { token: string; expires_at: string; organization_ids: string[] };

/** Records that a session has ended. Each isolate refuses it within 10 seconds. */
export async function recordEnd(db: Database, session: EndedSession): Promise<void> {
  const { token, expires_at, organization_ids } = session;
  const sha256 = sha256Hex(token);
  await db.run(
    sql`INSERT OR IGNORE INTO ended_sessions (sha256, organization_id, expires_at)
      SELECT ${sha256}, value, ${expires_at} FROM json_each(${JSON.stringify(organization_ids)})`,
  );
  forgetCallers();
}

export async function isEnded(db: Database, token: string): Promise<boolean> {
  const rows = await db
    .select({ sha256: ended_sessions.sha256 })
    .from(ended_sessions)
    .where(eq(ended_sessions.sha256, sha256Hex(token)))
    .limit(1);
  return rows.length > 0;
}

/** Deletes rows of sessions that have expired: those are refused without a row. */
export async function sweepEndedSessions(env: Env, now: Date): Promise<void> {
  await database(env)
    .delete(ended_sessions)
    .where(lte(ended_sessions.expires_at, now.toISOString()));
}
