import { sql } from "drizzle-orm";
import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import { openAgent } from "../../../access/service.ts";

/** The active revision is cached for a second. `check_db` queries the database. */
export async function getOk(
  ctx: Context,
  deployment_id: string,
  check_db: boolean,
): Promise<{ ok: true }> {
  await openAgent(ctx, deployment_id, "read");
  if (check_db) await ctx.db.get(sql`select 1`).catch(silent);
  return { ok: true };
}

function silent(cause: unknown): never {
  throw new AppError("unavailable", "The database is unavailable.", { cause });
}
