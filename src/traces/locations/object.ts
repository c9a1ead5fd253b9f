import { DurableObject } from "cloudflare:workers";
import type { Location } from "./location.ts";
import { LocationTable } from "./location-table.ts";

/** Locations found, and whether the next generation may have more. */
export type FoundLocations = { locations: Location[]; is_full: boolean };

/**
 * Projects and days of the trace runs and feedback of a workspace, by ids that do not contain the day. An id has one slot
 * in each generation. When the object of its slot is full, it belongs to the next generation, which has more slots. Named
 * `{workspace_id}/{slot}`.
 */
export class LocationObject extends DurableObject<Env> {
  readonly #table = new LocationTable(this.ctx.storage);

  /** Returns the ids that a full object refuses: they belong to the next generation. */
  async add(locations: Location[], max_ids: number): Promise<string[]> {
    return this.#table.add(locations, max_ids);
  }

  async find(ids: string[]): Promise<FoundLocations> {
    return { locations: this.#table.find(ids), is_full: this.#table.isFull };
  }

  /** Returns whether the next generation may have some of the locations too. */
  async remove(locations: Location[]): Promise<boolean> {
    this.#table.remove(locations);
    return this.#table.isFull;
  }

  /** Removes the locations of a project, or of a day of it. Returns whether the next generation may have some too. */
  async removeHomes(project_id: string, day: string | null): Promise<boolean> {
    this.#table.removeHomes(project_id, day);
    return this.#table.isFull;
  }
}
