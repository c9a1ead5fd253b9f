import { isRecord } from "../../../shared/guards.ts";
import { readJson } from "../config/json-file.ts";
import { unresolved } from "../failure.ts";
import { JSON_BYTES, PACKAGE_LIMITS, SOURCE_LIMITS } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";
import { type Tarball, tarballOf } from "./tarball-url.ts";

export type Manifest = {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  overrides?: Record<string, unknown>;
  resolutions?: Record<string, string>;
  pnpm?: unknown;
  packageManager?: unknown;
  workspaces?: unknown;
};

/** An installed package. `path` is absolute in the source. */
export type Package = Tarball & {
  path: string;
  name: string;
  version: string;
  /** Hashes in the form of lockfiles, or `REGISTRY_INTEGRITY`. */
  integrity: string | undefined;
  /** Names it may import: dependencies, optional and peer ones. */
  needs: string[];
};

/** The integrity that the registry gives. Yarn 2 and newer hash archives of their own. */
export const REGISTRY_INTEGRITY = "registry";

/** Installed packages by path. A link points to a folder of the source. */
export type Install = {
  packages: Map<string, Package>;
  links: Map<string, string>;
  /** Ranges that the lockfile replaces, by selectors. */
  overrides?: Record<string, string>;
};

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
export function readLockfile(
  folder: string,
  text: string,
  registry_url: string,
  name = "package-lock.json",
): Install {
  const path = joinPath(folder, name);
  const entries = toEntries(path, text);
  const install: Install = { packages: new Map(), links: new Map() };
  for (const [key, entry] of Object.entries(entries)) {
    if (!key.includes("node_modules/")) continue;
    assertEntry(path, key, entry);
    const place = joinPath(`/${folder}`, key);
    if (entry.link) install.links.set(place, joinPath(`/${folder}`, entry.resolved ?? ""));
    else if (isInstalled(entry))
      install.packages.set(place, toPackage(path, place, key, entry, registry_url));
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

/** A path is searched for packages at each of its levels. */
function assertEntry(lock: string, key: string, entry: unknown): void {
  if (key.length > SOURCE_LIMITS.path_bytes) {
    const text = `${lock}: "packages" has a path of ${key.length} characters; at most ${SOURCE_LIMITS.path_bytes} are allowed.`;
    throw unresolved(text);
  }
  if (!isRecord(entry)) throw unresolved(`${lock}: "packages.${key}" must be an object.`);
}

/** Optional packages of one system are native addons, which nothing here can load. */
function isInstalled(entry: LockEntry): boolean {
  const isNative = entry.os !== undefined || entry.cpu !== undefined;
  return !(entry.optional && isNative) && !entry.inBundle;
}

function toPackage(
  lock: string,
  place: string,
  key: string,
  entry: LockEntry,
  registry_url: string,
): Package {
  const name = entry.name ?? key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
  const version = entry.version ?? "";
  if (version === "") throw unresolved(`${lock}: "${key}" has no version.`);
  return {
    path: place,
    name,
    version,
    ...tarballOf(lock, name, version, entry.resolved, registry_url),
    integrity: entry.integrity,
    needs: dependencyNames(entry),
  };
}

export function dependencyNames(manifest: Manifest): string[] {
  return Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  });
}

/** Resolves an import of `name` from `directory` by Node's walk. @returns `null` when it is not found */
export function findPackage(install: Install, directory: string, name: string): string | null {
  for (let at = directory === "/" ? "" : directory; ; at = directoryOf(at)) {
    const place = `${at}/node_modules/${name}`;
    const link = install.links.get(place);
    if (link !== undefined) return link;
    if (install.packages.has(place)) return place;
    if (at === "") return null;
  }
}

/** Returns the packages that `names`, imported from `directory`, need. Provided ones and their needs are left out. */
export function reachable(
  install: Install,
  directory: string,
  names: string[],
  isProvided: (path: string) => boolean,
): Set<string> {
  const found = new Set<string>();
  const waiting = names.map((name) => ({ from: directory, name }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const path = findPackage(install, next.from, next.name);
    if (path === null || found.has(path) || isProvided(path)) continue;
    found.add(path);
    const names = install.packages.get(path)?.needs ?? [];
    waiting.push(...names.map((name) => ({ from: path, name })));
  }
  return new Set([...found].filter((path) => install.packages.has(path)));
}
