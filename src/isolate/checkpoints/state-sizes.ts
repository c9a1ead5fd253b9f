import type { StoredValue } from "../checkpoint-contract.ts";
import { assertStateSize, totalOf } from "../message-size.ts";
import type { Versions } from "./json-plus.ts";

/** Bytes of the values of states, by namespace. */
export class StateSizes {
  readonly #values = new Map<string, Map<string, number>>();
  /** Total of the state that was read or stored last. */
  readonly #totals = new Map<string, number>();

  /** Adds the values of a state that was read. */
  add(ns: string, values: StoredValue[]) {
    const sizes = this.#values.get(ns) ?? new Map<string, number>();
    for (const { channel, version, data } of values)
      sizes.set(keyOf(channel, version), data.length);
    this.#values.set(ns, sizes);
    this.#totals.set(
      ns,
      values.reduce((sum, { data }) => sum + data.length, 0),
    );
  }

  /**
   * Replaces a state by the next one. Values that did not change are not in `changed`.
   * @throws StateLimitError
   */
  grow(ns: string, versions: Versions, changed: StoredValue[], max_bytes?: number) {
    const known = new Map(this.#values.get(ns));
    for (const { channel, version, data } of changed)
      known.set(keyOf(channel, version), data.length);
    const sizes = Object.entries(versions).map(([channel, version]) => {
      const key = keyOf(channel, version);
      return { channel, key, bytes: known.get(key) ?? 0 };
    });
    assertStateSize(sizes, this.#totals.get(ns) ?? 0, max_bytes);
    this.#values.set(ns, new Map(sizes.map(({ key, bytes }) => [key, bytes])));
    this.#totals.set(ns, totalOf(sizes));
  }
}

function keyOf(channel: string, version: number): string {
  return `${channel} ${version}`;
}
