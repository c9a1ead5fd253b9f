import { and, eq } from "drizzle-orm";
import { database } from "../shared/context.ts";
import { among } from "../shared/sql.ts";
import { payloadPrefix } from "./deletion.ts";
import type { Leftovers } from "./storage/leftovers.ts";
import { run_locations } from "./table.ts";

const RUNS = 50;
const LOCATIONS = 5000;
const OBJECTS = 1000; // of one R2 call

/** One bounded step, which may be done twice. True when nothing is left. */
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
  for (;;) {
    const { objects, truncated } = await env.ARTIFACTS.list({ prefix, limit: OBJECTS });
    if (objects.length > 0) await env.ARTIFACTS.delete(objects.map(({ key }) => key));
    if (!truncated) return;
  }
}

async function deleteLocations(env: Env, project_id: string, ids: string[]): Promise<void> {
  await database(env)
    .delete(run_locations)
    .where(and(eq(run_locations.project_id, project_id), among(run_locations.run_id, ids)));
}
