import type { StoredValue } from "../checkpoint-contract.ts";
import { assertStateSize, totalOf } from "../message-size.ts";
import type { Versions } from "./json-plus.ts";

/**
 * Maximum number of entries: each call of a subgraph has a namespace. The oldest entries are dropped, mostly those of
 * calls that have ended. Unchanged values of a namespace that was dropped while in use are not counted until its state
 * is read again.
 */
const MAX_SIZES = 20_000;

/** `total`: bytes of the state that was read or stored last. */
type SizesOfState = { values: Map<string, number>; total: number };

/** Bytes of the values of states, by namespace. */
export class StateSizes {
  /** In the order of their last change: the oldest is dropped first. */
  readonly #states = new Map<string, SizesOfState>();
  #count = 0;

  /** Adds the values of a state that was read. */
  add(ns: string, values: StoredValue[]) {
    const sizes = this.#take(ns)?.values ?? new Map<string, number>();
    for (const { channel, version, data } of values)
      sizes.set(keyOf(channel, version), data.length);
    const total = values.reduce((sum, { data }) => sum + data.length, 0);
    this.#set(ns, { values: sizes, total });
  }

  /**
   * Replaces a state by the next one. Values that did not change are not in `changed`.
   * @throws StateLimitError
   */
  grow(ns: string, versions: Versions, changed: StoredValue[], max_bytes?: number) {
    const before = this.#states.get(ns);
    const known = new Map(before?.values);
    for (const { channel, version, data } of changed)
      known.set(keyOf(channel, version), data.length);
    const sizes = Object.entries(versions).map(([channel, version]) => {
      const key = keyOf(channel, version);
      return { channel, key, bytes: known.get(key) ?? 0 };
    });
    assertStateSize(sizes, before?.total ?? 0, max_bytes);
    const values = new Map(sizes.map(({ key, bytes }) => [key, bytes]));
    this.#set(ns, { values, total: totalOf(sizes) });
  }

  #set(ns: string, state: SizesOfState) {
    this.#take(ns);
    this.#states.set(ns, state);
    this.#count += countOf(state);
    for (const oldest of this.#states.keys()) {
      if (this.#count <= MAX_SIZES) return;
      const isUnderWay = oldest === "" || oldest === ns || ns.startsWith(`${oldest}|`);
      if (!isUnderWay) this.#take(oldest);
    }
  }

  #take(ns: string): SizesOfState | undefined {
    const state = this.#states.get(ns);
    this.#count -= countOf(state);
    this.#states.delete(ns);
    return state;
  }
}

/** Counts the values of a state, and the state itself, which takes memory without values too. */
function countOf(state: SizesOfState | undefined): number {
  return state ? state.values.size + 1 : 0;
}

function keyOf(channel: string, version: number): string {
  return `${channel} ${version}`;
}
