import { sql } from "drizzle-orm";
import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import { openAgent } from "../../../access/service.ts";

/**
 * Checks that the deployment serves. `check_db` queries the database too: the revision may come from a cache.
 * @throws AppError when the deployment does not serve, or the database does not answer
 */
export async function getOk(
  ctx: Context,
  deployment_id: string,
  check_db: boolean,
): Promise<{ ok: true }> {
  await openAgent(ctx, deployment_id, "read");
  if (check_db) await ctx.db.get(sql`select 1`).catch(throwUnavailable);
  return { ok: true };
}

function throwUnavailable(cause: unknown): never {
  throw new AppError("unavailable", "The database is unavailable.", { cause });
}
