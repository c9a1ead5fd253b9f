import { z } from "zod";
import { type EgressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { SerialQueue } from "../../../shared/work/serial-queue.ts";
import type { BuildLog } from "../build-log.ts";
import { parseJsonc } from "../config/json.ts";
import type { PackageStore } from "../contract.ts";
import { assertPackageCount, BuildFailure } from "../failure.ts";
import { type Integrity, matches, parseIntegrity } from "../integrity.ts";
import { PACKAGE_LIMITS } from "../limits.ts";
import { type Package, REGISTRY_INTEGRITY } from "../locks/install-tree.ts";
import { retryTransient } from "../retry.ts";
import { bytesText } from "../text.ts";
import { openPackage, type PackageFiles, PackageTooLarge, packPackage } from "./package-files.ts";

export type Installer = {
  /** Keyed by the path of the package. */
  installed: Map<string, PackageFiles>;
  /** Fetches packages that are not installed. Counts those from R2 and from the registry, and their packed bytes. */
  install(packages: Package[]): Promise<{ cached: number; fetched: number; bytes: number }>;
};

export function installer(storage: PackageStore, policy: EgressPolicy, log: BuildLog): Installer {
  const installed = new Map<string, PackageFiles>();
  let held_bytes = 0;
  return {
    installed,
    async install(packages) {
      const missing = packages.filter(({ path }) => !installed.has(path));
      assertPackageCount(installed.size + missing.length);
      const count = { cached: 0, fetched: 0, bytes: 0 };
      await mapConcurrent(missing, PACKAGE_LIMITS.parallel, async (item) => {
        const { files, isCached } = await obtain(storage, policy, log, item);
        held_bytes += files.bytes;
        if (held_bytes > PACKAGE_LIMITS.installed_bytes) throw tooLarge();
        installed.set(item.path, files);
        count[isCached ? "cached" : "fetched"] += 1;
        count.bytes += files.bytes;
      });
      return count;
    },
  };
}

async function obtain(storage: PackageStore, policy: EgressPolicy, log: BuildLog, locked: Package) {
  if (locked.refusal) throw new BuildFailure("dependency_unresolved", locked.refusal);
  const item = await withIntegrity(policy, locked);
  const integrity = parseIntegrity(item.integrity);
  const stored = integrity === null ? null : await storage.readTarball(integrity);
  if (stored !== null) {
    return { files: await open(item, await new Response(stored).bytes()), isCached: true };
  }
  const tarball = await retryTransient(() => download(policy, item), isTransient);
  await verify(log, item, integrity, tarball);
  if (integrity !== null) {
    await storage.writeTarball(integrity, tarball.byteLength, new Blob([tarball]).stream());
  }
  return { files: await open(item, tarball), isCached: false };
}

const large = new SerialQueue();

/**
 * Repacks a tarball. Small packages run in parallel. A large one, of up to 160 MB, waits for the large one before it.
 */
async function packInTurn(tarball: Uint8Array): Promise<Uint8Array> {
  try {
    return await packPackage(tarball, PACKAGE_LIMITS.parallel_bytes);
  } catch (error) {
    if (!(error instanceof PackageTooLarge)) throw error;
  }
  return large.run(() => packPackage(tarball));
}

async function open(item: Package, tarball: Uint8Array): Promise<PackageFiles> {
  try {
    return openPackage(await packInTurn(tarball));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw unresolved(item, `its tarball cannot be unpacked: ${text}`, error);
  }
}

async function verify(
  log: BuildLog,
  item: Package,
  integrity: Integrity | null,
  tarball: Uint8Array,
) {
  const label = `${item.name}@${item.version}`;
  if (integrity === null) {
    log.warn(`${label} has no integrity in the lockfile and was not verified.`);
    return;
  }
  if (integrity.algorithm === "SHA-1")
    log.warn(`${label} has only a SHA-1 integrity; run npm install to renew it.`);
  if (await matches(integrity, tarball)) return;
  const text = `${label} from ${item.url} does not match the integrity in the lockfile (${item.integrity}).`;
  throw new BuildFailure("dependency_integrity", text);
}

const RegistryVersion = z.object({ dist: z.object({ integrity: z.string().optional() }) });

/** Reads the integrity of a tarball from the registry if the lockfile lacks it, as those of Yarn 2 and newer do. */
async function withIntegrity(policy: EgressPolicy, item: Package): Promise<Package> {
  if (item.integrity !== REGISTRY_INTEGRITY) return item;
  const url = item.url.replace(/\/-\/[^/]*$/, `/${item.version}`);
  const read = () => download(policy, item, url, PACKAGE_LIMITS.metadata_bytes);
  const bytes = await retryTransient(read, isTransient);
  const { data } = RegistryVersion.safeParse(parseJsonc(new TextDecoder().decode(bytes)));
  return { ...item, integrity: data?.dist.integrity };
}

async function download(
  policy: EgressPolicy,
  item: Package,
  url = item.url,
  max_bytes = PACKAGE_LIMITS.compressed_bytes,
): Promise<Uint8Array> {
  try {
    const limits = { timeout_ms: PACKAGE_LIMITS.timeout_ms, max_bytes };
    const response = await safeFetch(policy, url, {}, limits);
    if (response.ok) return await response.bytes();
    await response.body?.cancel();
    const busy = response.status >= 500 || response.status === 429;
    throw new AppError(busy ? "unavailable" : "not_found", `${url} answers ${response.status}`);
  } catch (error) {
    throw unresolved(item, AppError.from(error).message, error);
  }
}

function isTransient(error: unknown): boolean {
  return (
    error instanceof BuildFailure &&
    error.cause instanceof AppError &&
    error.cause.code === "unavailable"
  );
}

function unresolved(item: Package, why: string, cause: unknown): BuildFailure {
  const text = `${item.name}@${item.version} cannot be installed: ${why}`;
  return new BuildFailure("dependency_unresolved", text, { cause });
}

function tooLarge(): BuildFailure {
  const text = `The packages have more than ${bytesText(PACKAGE_LIMITS.installed_bytes)} compressed.`;
  return new BuildFailure("dependency_unresolved", text);
}
