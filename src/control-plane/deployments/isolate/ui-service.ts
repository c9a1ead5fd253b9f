import { and, eq } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { type UiBundles, uiKeyOf } from "../../builds/contract.ts";
import type { ActiveRevision } from "../active.ts";
import { revisions } from "../table.ts";

/** Files of one agent's components, by name. */
export type AgentUiFiles = UiBundles[string];

/** Returns the files of an agent's components, from the build of its revision. @returns `null` without components */
export async function readUi(
  env: Env,
  revision: Pick<ActiveRevision, "workspace_id" | "deployment_id" | "revision_id">,
  agent: string,
): Promise<AgentUiFiles | null> {
  const [row] = await database(env)
    .select({ artifact_key: revisions.artifact_key })
    .from(revisions)
    .where(
      and(
        eq(revisions.id, revision.revision_id),
        eq(revisions.deployment_id, revision.deployment_id),
        eq(revisions.workspace_id, revision.workspace_id),
      ),
    );
  if (!row?.artifact_key) return null;
  const object = await env.ARTIFACTS.get(uiKeyOf(row.artifact_key));
  const bundles = await object?.json<UiBundles>();
  return bundles && Object.hasOwn(bundles, agent) ? (bundles[agent] ?? null) : null;
}
