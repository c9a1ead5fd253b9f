import { and, eq, inArray } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { bulk_exports } from "../table.ts";

/** Whether an active export or schedule of the workspace writes to the destination. */
export async function isReferenced(ctx: Context, destination_id: string): Promise<boolean> {
  const active = await ctx.db.$count(
    bulk_exports,
    and(
      eq(bulk_exports.bulk_export_destination_id, destination_id),
      eq(bulk_exports.workspace_id, ctx.caller.workspace_id),
      inArray(bulk_exports.status, ["CREATED", "RUNNING", "INTERVAL_SCHEDULED"]),
    ),
  );
  return active > 0;
}
