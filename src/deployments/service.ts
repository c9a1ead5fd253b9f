import type { Context } from "../shared/context.ts";
import { findActive } from "./active.ts";

export type ActiveRevision = Awaited<ReturnType<typeof findActive>>;

/** What a run needs of its deployment. 404 when the workspace has no such one, 503 until one is deployed. */
export function activeRevision(ctx: Context, deployment_id: string): Promise<ActiveRevision> {
  return findActive(ctx, deployment_id);
}
