import { isRecord } from "../../../shared/guards.ts";
import { readJson } from "../config/json-file.ts";
import { unresolved } from "../failure.ts";
import { JSON_BYTES, PACKAGE_LIMITS, SOURCE_LIMITS } from "../limits.ts";
import { joinPath } from "../paths.ts";
import { dependencyNames, type Install, type Manifest, type Package } from "./install-tree.ts";
import { tarballOf } from "./tarball-url.ts";

type LockEntry = Manifest & {
  resolved?: string;
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
};

/** Reads package-lock.json or npm-shrinkwrap.json of version 2 or 3. */
export function readNpmLock(
  folder: string,
  text: string,
  registry_url: string,
  name = "package-lock.json",
): Install {
  const lock = joinPath(folder, name);
  const entries = toEntries(lock, text);
  const install: Install = { packages: new Map(), links: new Map() };
  for (const [key, entry] of Object.entries(entries)) {
    if (!key.includes("node_modules/")) continue;
    assertEntry(lock, key, entry);
    const path = joinPath(`/${folder}`, key);
    if (entry.link) install.links.set(path, joinPath(`/${folder}`, entry.resolved ?? ""));
    else if (isInstalled(entry))
      install.packages.set(path, toPackage(lock, path, key, entry, registry_url));
  }
  return install;
}

function toEntries(path: string, text: string): Record<string, LockEntry> {
  const value = readJson(path, text, JSON_BYTES.lockfile, "dependency_unresolved");
  const lock = isRecord(value) ? value : {};
  if (!isRecord(lock.packages)) {
    const version = String(lock.lockfileVersion ?? "unknown");
    throw unresolved(
      `${path} has version ${version}; Heddle reads versions 2 and 3. Run npm install with npm 7 or newer and commit the file.`,
    );
  }
  const count = Object.keys(lock.packages).length;
  if (count > PACKAGE_LIMITS.lockfile_entries) {
    throw unresolved(
      `${path} has ${count} packages; at most ${PACKAGE_LIMITS.lockfile_entries} are allowed.`,
    );
  }
  return lock.packages as Record<string, LockEntry>;
}

/** The length is limited because `findPackage` looks in each parent folder of a path. */
function assertEntry(lock: string, key: string, entry: unknown): void {
  if (key.length > SOURCE_LIMITS.path_characters) {
    const text = `${lock}: "packages" has a path of ${key.length} characters; at most ${SOURCE_LIMITS.path_characters} are allowed.`;
    throw unresolved(text);
  }
  if (!isRecord(entry)) throw unresolved(`${lock}: "packages.${key}" must be an object.`);
}

/** Skips optional packages for one OS or CPU: they are native addons, which Workers cannot load. */
function isInstalled(entry: LockEntry): boolean {
  const isNative = entry.os !== undefined || entry.cpu !== undefined;
  return !(entry.optional && isNative) && !isInTarball(entry);
}

/**
 * Matches packages inside another package's tarball. `inBundle` also marks the packages that the repository itself
 * bundles, but these have an address.
 */
function isInTarball({ inBundle, resolved, integrity }: LockEntry): boolean {
  return inBundle === true && resolved === undefined && integrity === undefined;
}

function toPackage(
  lock: string,
  path: string,
  key: string,
  entry: LockEntry,
  registry_url: string,
): Package {
  const name = entry.name ?? key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
  const version = entry.version ?? "";
  if (version === "") throw unresolved(`${lock}: "${key}" has no version.`);
  return {
    path,
    name,
    version,
    ...tarballOf(lock, name, version, entry.resolved, registry_url),
    integrity: entry.integrity,
    needs: dependencyNames(entry),
  };
}
