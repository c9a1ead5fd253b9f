import type { Context } from "../../shared/context.ts";
import { inRegion } from "../../shared/storage/objects.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { Home } from "../changes.ts";
import { generationOf, slotOf, slotsAfter } from "./generations.ts";
import { type Location, sharedId } from "./location.ts";
import type { LocationObject } from "./object.ts";

/** `is_shared`: the homes are those of the spans of the trace. This run may be in none of them. */
export type LocatedHomes = { homes: Home[]; is_shared: boolean };

/** Number of ids at which an object before the last generation is full. `of`: the same by workspace, for tests. */
export const LOCATION_SIZE = { max_ids: 250_000, of: new Map<string, number>() };
/** Last generation: its objects refuse nothing. A workspace has at most 511 objects in all generations. */
const MAX_GENERATION = 8;
const AT_ONCE = 8;

/** Returns the homes of those ids that have a location: a run whose id has its day needs none. */
export async function findLocations(
  ctx: Context,
  ids: string[],
): Promise<Map<string, LocatedHomes>> {
  const { env, caller } = ctx;
  const found = new Map<string, Map<string, Home>>();
  const keys = ids.flatMap((id) => [id, sharedId(id) ?? id]);
  await visitObjects(env, caller.workspace_id, keys, async (object, some) => {
    const { locations, is_full } = await object.find(some);
    for (const { id, project_id, day } of locations) {
      const homes = found.get(id) ?? new Map<string, Home>();
      found.set(id, homes.set(`${project_id}/${day}`, { project_id, day }));
    }
    return is_full ? some : [];
  });
  return new Map(
    ids.flatMap((id) => {
      const [own, shared] = [found.get(id), found.get(sharedId(id) ?? id)];
      const homes = own ?? shared;
      return homes === undefined
        ? []
        : [[id, { homes: [...homes.values()], is_shared: own === undefined }]];
    }),
  );
}

/**
 * Must precede the write of the runs: a location without a run is harmless, but a run without a location is not found.
 */
export async function saveLocations(
  env: Env,
  workspace_id: string,
  locations: Location[],
): Promise<void> {
  const max_ids = LOCATION_SIZE.of.get(workspace_id) ?? LOCATION_SIZE.max_ids;
  const byId = locationsById(locations);
  await visitObjects(env, workspace_id, [...byId.keys()], (object, ids, slot) => {
    const isLast = generationOf(slot) === MAX_GENERATION;
    const some = ids.flatMap((id) => byId.get(id) ?? []);
    return object.add(some, isLast ? Number.POSITIVE_INFINITY : max_ids);
  });
}

/** Idempotent. */
export async function deleteLocations(
  env: Env,
  workspace_id: string,
  locations: Location[],
): Promise<void> {
  const byId = locationsById(locations);
  await visitObjects(env, workspace_id, [...byId.keys()], async (object, ids) => {
    const is_full = await object.remove(ids.flatMap((id) => byId.get(id) ?? []));
    return is_full ? ids : [];
  });
}

/** Deletes the locations of a project, or of a day of it, in all objects. Idempotent. */
export async function deleteHomes(
  env: Env,
  workspace_id: string,
  { project_id, day }: { project_id: string; day: string | null },
): Promise<void> {
  for (let slots = [0]; slots.length > 0; ) {
    const next = await mapConcurrent(slots, AT_ONCE, async (slot) => {
      const is_full = await locationObject(env, workspace_id, slot).removeHomes(project_id, day);
      return is_full ? slotsAfter(slot) : [];
    });
    slots = next.flat();
  }
}

function locationsById(locations: Location[]): Map<string, Location[]> {
  const unique = locations.map((one) => [`${one.id}/${one.project_id}/${one.day}`, one] as const);
  return Map.groupBy(new Map(unique).values(), ({ id }) => id);
}

type Visit = (object: LocationCalls, ids: string[], slot: number) => Promise<string[]>;

/** Visits the object of each id, then that of the next generation for the ids that a visit returns. */
async function visitObjects(
  env: Env,
  workspace_id: string,
  ids: string[],
  visit: Visit,
): Promise<void> {
  let rest = [...new Set(ids)];
  for (let generation = 0; rest.length > 0; generation++) {
    const bySlot = Map.groupBy(rest, (id) => slotOf(id, generation));
    const next = await mapConcurrent([...bySlot], AT_ONCE, ([slot, some]) =>
      visit(locationObject(env, workspace_id, slot), some, slot),
    );
    rest = next.flat();
  }
}

// RPC types change `Infinity` and optional fields, so calls use the types of the class.
type LocationCalls = Pick<LocationObject, "add" | "find" | "remove" | "removeHomes">;

function locationObject(env: Env, workspace_id: string, slot: number): LocationCalls {
  return inRegion(env, env.LOCATIONS).getByName(`${workspace_id}/${slot}`);
}
