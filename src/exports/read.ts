import { eq } from "drizzle-orm";
import { database } from "../shared/context.ts";
import { bulk_exports, type ExportRow } from "./table.ts";

/** Not scoped to a workspace: internal callers only. */
export async function readExport(env: Env, id: string): Promise<ExportRow | null> {
  const [row] = await database(env).select().from(bulk_exports).where(eq(bulk_exports.id, id));
  return row ?? null;
}
