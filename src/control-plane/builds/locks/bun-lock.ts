import { isRecord } from "../../../shared/guards.ts";
import { parseJsonc } from "../config/json.ts";
import { assertSize } from "../config/json-file.ts";
import { JSON_BYTES } from "../limits.ts";
import { joinPath } from "../paths.ts";
import { dependencyNames, type Install, type Package } from "./install-tree.ts";
import { assertEntries, record, refusalOfPatch, text, texts, unreadable } from "./lock-text.ts";
import { tarballOf } from "./tarball-url.ts";

const VERSIONS = [0, 1, 2];
const NAMES = /(?:@[^/]+\/)?[^/]+/g;

/** Reads bun.lock, whose keys are paths of packages: `tool/ms` is the `ms` inside of `tool`. */
export function readBunLock(folder: string, source: string, registry_url: string): Install {
  const path = joinPath(folder, "bun.lock");
  assertSize(path, source.length, JSON_BYTES.lockfile, "dependency_unresolved");
  const lock = record(parseJsonc(source));
  const packages = packagesOf(path, lock);
  const required = requiredNames(lock, packages);
  const patched = Object.keys(record(lock.patchedDependencies));
  const root = folder === "" ? "" : `/${folder}`;
  const folders = foldersOf(root, packages);
  const install: Install = { packages: new Map(), links: new Map() };
  for (const [key, entry] of Object.entries(packages)) {
    const place = placeOf(root, folders, key);
    const target = folders.get(key);
    if (target !== undefined) install.links.set(place, target);
    const context = { path, registry_url, required, patched };
    const item = target === undefined && toPackage(context, key, place, entry);
    if (item) install.packages.set(place, item);
  }
  return install;
}

function packagesOf(path: string, lock: Record<string, unknown>): Record<string, unknown> {
  if (!isRecord(lock.packages)) throw unreadable(path, "it has no packages");
  if (!VERSIONS.includes(Number(lock.lockfileVersion))) {
    throw unreadable(path, `it has version ${lock.lockfileVersion}; Heddle reads 0, 1 and 2`);
  }
  assertEntries(path, lock.packages);
  return lock.packages;
}

/** Returns the absolute folders of workspaces and `file:` dependencies, by the key of the package. */
function foldersOf(root: string, packages: Record<string, unknown>): Map<string, string> {
  const folders = Object.entries(packages).flatMap(([key, entry]) => {
    const locator = Array.isArray(entry) ? text(entry[0]) : undefined;
    const [, folder] = /^@?[^@]+@(?:workspace|file):(.*)$/.exec(locator ?? "") ?? [];
    return folder === undefined || /\.t(ar\.)?gz$/.test(folder)
      ? []
      : [[key, joinPath(`${root}/`, folder)] as const];
  });
  return new Map(folders);
}

/** Returns the install path of a key. The first name of a key may be a workspace, which is a folder of the source. */
function placeOf(root: string, folders: Map<string, string>, key: string): string {
  const names = key.match(NAMES) ?? [];
  const home = names.length > 1 ? folders.get(names[0] ?? "") : undefined;
  const inner = home === undefined ? names : names.slice(1);
  return `${home ?? root}${inner.map((name) => `/node_modules/${name}`).join("")}`;
}

/** Returns the names that a workspace or a package lists in `dependencies`, so that they are not only optional. */
function requiredNames(
  { workspaces }: Record<string, unknown>,
  packages: Record<string, unknown>,
): Set<string> {
  const infos = Object.values(packages).flatMap((entry) => (Array.isArray(entry) ? entry : []));
  const owners = [...Object.values(record(workspaces)), ...infos].map(record);
  return new Set(owners.flatMap(({ dependencies }) => Object.keys(record(dependencies))));
}

type Context = { path: string; registry_url: string; required: Set<string>; patched: string[] };

/** @returns `null` for an optional package that is restricted to an OS or a CPU */
function toPackage(context: Context, key: string, place: string, entry: unknown): Package | null {
  const { path, registry_url, patched } = context;
  const [locator, ...rest] = Array.isArray(entry) ? entry : [];
  const [, name, version] = /^(@?[^@]+)@(.+)$/.exec(text(locator) ?? "") ?? [];
  if (name === undefined || version === undefined) {
    throw unreadable(path, `"packages.${key}" is not a package of the registry`);
  }
  // A package that is not from a registry has its address as its version, and lacks the field for the registry.
  const [source, info, integrity] = version.includes(":") ? [version, ...rest] : rest;
  const { dependencies, peerDependencies } = record(info);
  if (isLeftOut(context, key, record(info))) return null;
  const isRegistry = source !== version && !text(source)?.endsWith(".tgz");
  return {
    path: place,
    name,
    version,
    ...tarballOf(path, name, version, isRegistry ? undefined : text(source), registry_url),
    ...refusalOfPatch(path, patched, name, version),
    integrity: text(integrity),
    needs: dependencyNames({
      dependencies: texts(dependencies),
      peerDependencies: texts(peerDependencies),
    }),
  };
}

/** Skips optional packages for one OS or CPU: they are native addons, which Workers cannot load. */
function isLeftOut(
  { required }: Context,
  key: string,
  { os, cpu }: Record<string, unknown>,
): boolean {
  const isNative = os !== undefined || cpu !== undefined;
  return isNative && !required.has(key.match(NAMES)?.at(-1) ?? "");
}
