import { and, eq } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { deleteBelow } from "../../shared/storage/objects-below.ts";
import { among } from "../../shared/storage/sql.ts";
import type { Leftovers } from "../storage/leftovers.ts";
import { payloadPrefix } from "./payloads.ts";
import { run_locations } from "./table.ts";

const RUNS = 50;
const LOCATIONS = 5000;

/** Deletes a bounded number of leftovers. Idempotent. Returns whether none remain. */
export async function removeLeftovers(
  env: Env,
  { project_id }: { project_id: string },
  leftovers: Leftovers,
): Promise<boolean> {
  const runs = leftovers.list("payloads", RUNS);
  for (const id of runs) await deletePayloads(env, `${payloadPrefix(project_id)}${id}/`);
  leftovers.remove("payloads", runs);
  const ids = leftovers.list("location", LOCATIONS);
  if (ids.length > 0) await deleteLocations(env, project_id, ids);
  leftovers.remove("location", ids);
  return runs.length < RUNS && ids.length < LOCATIONS;
}

async function deletePayloads(env: Env, prefix: string): Promise<void> {
  while (!(await deleteBelow(env.ARTIFACTS, prefix)));
}

async function deleteLocations(env: Env, project_id: string, ids: string[]): Promise<void> {
  await database(env)
    .delete(run_locations)
    .where(and(eq(run_locations.project_id, project_id), among(run_locations.run_id, ids)));
}
