import { parse, rcompare, satisfies } from "semver";
import type { PackageVersion } from "../contract.ts";
import { PREBUILT_PACKAGES } from "./unit.ts";

/** Version of the format of units, which is part of their keys: a new version builds all units again. */
const FORMAT = 1;

/** Maximum size of a gzipped unit. The largest one so far, zod, has 240 kB. */
const UNIT_BYTES = 4 * 1024 * 1024;

/** The units that one build may read: those in the builder script, and those in R2, which earlier builds requested. */
export class PrebuiltUnits {
  readonly #bucket: R2Bucket;
  readonly #carried: Record<string, ArrayBuffer>;
  readonly #missing = new Map<string, PackageVersion>();

  constructor(bucket: R2Bucket, carried: Record<string, ArrayBuffer>) {
    this.#bucket = bucket;
    this.#carried = carried;
  }

  async read(name: string, version: string): Promise<ReadableStream<Uint8Array> | null> {
    if (!isPrebuildable(name, version)) return null;
    const carried = this.#carried[`${name}@${version}`];
    if (carried) return new Response(carried).body;
    const object = await this.#bucket.get(keyOf({ name, version }));
    if (object === null) this.#missing.set(name, { name, version });
    return object?.body ?? null;
  }

  list(): Record<string, string[]> {
    const lists: Record<string, string[]> = {};
    for (const id of Object.keys(this.#carried)) {
      const at = id.lastIndexOf("@");
      const name = id.slice(0, at);
      lists[name] = [...(lists[name] ?? []), id.slice(at + 1)].sort(rcompare);
    }
    return lists;
  }

  /** Versions that the build read and that have no unit. Of each package, only the last one. */
  get missing(): PackageVersion[] {
    return [...this.#missing.values()];
  }

  /** Returns `false` when the unit exists already, or is never prebuilt. */
  async isWanted({ name, version }: PackageVersion): Promise<boolean> {
    if (!isPrebuildable(name, version) || this.#carried[`${name}@${version}`]) return false;
    return (await this.#bucket.head(keyOf({ name, version }))) === null;
  }

  /** Idempotent: concurrent builds write the same unit. */
  async write(unit: PackageVersion, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > UNIT_BYTES) throw new RangeError(`More than ${UNIT_BYTES} bytes`);
    await this.#bucket.put(keyOf(unit), bytes);
  }
}

function keyOf({ name, version }: PackageVersion): string {
  return `prebuilt/${FORMAT}/${name}@${version}.json.gz`;
}

/** Excludes prereleases, and versions before 1, which lack modules that units of other packages import. */
function isPrebuildable(name: unknown, version: unknown): boolean {
  if (typeof name !== "string" || typeof version !== "string") return false;
  const isExact = parse(version)?.version === version;
  return isExact && PREBUILT_PACKAGES.includes(name) && satisfies(version, ">=1");
}
