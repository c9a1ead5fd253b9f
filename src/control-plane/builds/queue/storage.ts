import { RpcTarget } from "cloudflare:workers";
import {
  type ArtifactKind,
  artifactKeyOf,
  type BuildOrder,
  type BuildStore,
  mapKeyOf,
  type PackageStore,
  resolutionPrefix,
  uiKeyOf,
} from "../contract.ts";
import type { Integrity } from "../integrity.ts";
import {
  ARTIFACT_BYTES,
  PACKAGE_LIMITS,
  RESOLUTION_BYTES,
  SOURCE_MAP_BYTES,
  UI_BYTES,
} from "../limits.ts";
import type { PrebuiltUnits } from "../prebuilt/units.ts";

/** Hashes that R2 verifies. SHA-1 is left out because it has collisions: two packages may have the same one. */
const HASHES = { "SHA-512": "sha512", "SHA-384": "sha384", "SHA-256": "sha256" } as const;
const HEX = { "SHA-512": 128, "SHA-384": 96, "SHA-256": 64 };
const LIMITS = { artifact: ARTIFACT_BYTES, ui: UI_BYTES, map: SOURCE_MAP_BYTES };
const KEYS = { artifact: (key: string) => key, ui: uiKeyOf, map: mapKeyOf };

/** Stores packages by their hash, which R2 verifies at each write. */
export class PackageStorage extends RpcTarget implements PackageStore {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    super();
    this.#bucket = bucket;
  }

  async readTarball(integrity: Integrity): Promise<ReadableStream<Uint8Array> | null> {
    const key = tarballKey(integrity);
    const object = key === null ? null : await this.#bucket.get(key);
    return object?.body ?? null;
  }

  async writeTarball(
    integrity: Integrity,
    bytes: number,
    body: ReadableStream<Uint8Array>,
  ): Promise<void> {
    const key = tarballKey(integrity);
    if (key === null || !(bytes <= PACKAGE_LIMITS.compressed_bytes)) return body.cancel();
    const { algorithm, hex } = integrity;
    const options = { [HASHES[algorithm as keyof typeof HASHES]]: hex };
    await put(this.#bucket, key, bytes, body, options);
  }
}

/**
 * Everything that one build may read or write in R2: its uploaded source, its artifact, packages, prebuilt units (read
 * only), and the versions that its deployment chose. Large bodies are streams, so that the builder's isolate, which all
 * builds share, does not hold them.
 */
export class BuildStorage extends PackageStorage implements BuildStore {
  readonly #bucket: R2Bucket;
  readonly #order: BuildOrder;
  readonly #units: PrebuiltUnits;
  /** Written bytes by kind. A second write of a kind replaces the first one. */
  readonly #written = new Map<ArtifactKind, number>();

  constructor(bucket: R2Bucket, order: BuildOrder, units: PrebuiltUnits) {
    super(bucket);
    this.#bucket = bucket;
    this.#order = order;
    this.#units = units;
  }

  async readSource(): Promise<ReadableStream<Uint8Array> | null> {
    const { source } = this.#order;
    if (source.kind !== "tarball") return null;
    const object = await this.#bucket.get(source.object_key);
    return object?.body ?? null;
  }

  readPrebuilt(name: string, version: string): Promise<ReadableStream<Uint8Array> | null> {
    return this.#units.read(name, version);
  }

  async listPrebuilt(): Promise<Record<string, string[]>> {
    return this.#units.list();
  }

  async readResolution(hash: string): Promise<ReadableStream<Uint8Array> | null> {
    const object = await this.#bucket.get(this.#resolutionKey(hash));
    return object?.body ?? null;
  }

  /** Writes only if the object does not exist, so that concurrent builds keep one record. */
  async writeResolution(hash: string, json: string): Promise<void> {
    if (!(json.length <= RESOLUTION_BYTES))
      throw new RangeError(`Resolution: more than ${RESOLUTION_BYTES} characters`);
    const onlyIf = { etagDoesNotMatch: "*" };
    await this.#bucket.put(this.#resolutionKey(hash), json, { onlyIf });
  }

  async writeArtifact(
    kind: ArtifactKind,
    bytes: number,
    body: ReadableStream<Uint8Array>,
  ): Promise<void> {
    if (!(bytes <= LIMITS[kind])) throw new RangeError(`${kind}: more than ${LIMITS[kind]} bytes`);
    const key = KEYS[kind](this.#artifactKey());
    const httpMetadata = { contentType: "application/json" };
    await put(this.#bucket, key, bytes, body, { httpMetadata });
    this.#written.set(kind, bytes);
  }

  /** Returns the fields of an outcome that are not taken from the isolate, which is untrusted. */
  stored(): { artifact_key: string; artifact_bytes: number } {
    if (!this.#written.has("artifact")) throw new Error("The build ended without an artifact");
    const artifact_bytes = [...this.#written.values()].reduce((sum, bytes) => sum + bytes, 0);
    return { artifact_key: this.#artifactKey(), artifact_bytes };
  }

  #resolutionKey(hash: string): string {
    if (!/^[0-9a-f]{64}$/.test(hash))
      throw new RangeError("Resolution: the hash must be a SHA-256 in hex");
    return `${resolutionPrefix(this.#order.deployment_id)}${hash}.json`;
  }

  #artifactKey(): string {
    return artifactKeyOf(this.#order.revision_id);
  }
}

async function put(
  bucket: R2Bucket,
  key: string,
  bytes: number,
  body: ReadableStream<Uint8Array>,
  options: R2PutOptions,
): Promise<void> {
  // R2 stores a stream only if its length is known.
  const fixed = new FixedLengthStream(bytes);
  await Promise.all([body.pipeTo(fixed.writable), bucket.put(key, fixed.readable, options)]);
}

/** @returns `null` for an integrity under which no package is stored, such as a SHA-1 */
function tarballKey({ algorithm, hex }: Integrity): string | null {
  if (algorithm === "SHA-1" || !Object.hasOwn(HASHES, algorithm)) return null;
  if (hex.length !== HEX[algorithm] || !/^[0-9a-f]+$/.test(hex)) return null;
  return `tarballs/${HASHES[algorithm]}-${hex}`;
}
