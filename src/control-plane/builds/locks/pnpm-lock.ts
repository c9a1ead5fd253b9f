import { joinPath } from "../paths.ts";
import type { Install } from "./install-tree.ts";
import { type Edge, edgesOf, type LockGraph, type LockTarget, layOut } from "./layout.ts";
import {
  assertEntries,
  parseLock,
  record,
  refusalOfPatch,
  text,
  texts,
  unpatched,
  unreadable,
} from "./lock-text.ts";
import { tarballOf } from "./tarball-url.ts";

type Entry = Record<string, unknown>;
type Options = { registry_url: string; project: string; others?: string[] };

const VERSIONS = ["6.0", "6.1", "9.0"];

/** Reads pnpm-lock.yaml of pnpm 8 (version 6) and newer (version 9). */
export function readPnpmLock(folder: string, source: string, options: Options): Install {
  const path = joinPath(folder, "pnpm-lock.yaml");
  const lock = parseLock(path, source);
  assertVersion(path, lock);
  const root = folder === "" ? "" : `/${folder}`;
  const graph = graphOf(path, lock, root, options);
  const install = layOut(path, graph, root, [options.project, ...(options.others ?? [])]);
  return { ...install, overrides: texts(lock.overrides) };
}

function graphOf(path: string, lock: Entry, root: string, options: Options): LockGraph {
  const [packages, snapshots] = [record(lock.packages), record(lock.snapshots ?? lock.packages)];
  assertEntries(path, snapshots);
  const importers = record(lock.importers ?? { ".": lock });
  const patched = Object.keys(record(lock.patchedDependencies));
  const directories = new Map<string, Edge[]>();
  const toTarget = (key: string, item: Entry): LockTarget => {
    const edges = snapshotEdges(root, record(snapshots[key]));
    const { type, directory } = record(item.resolution);
    if (type !== "directory") return toPackage({ path, patched, ...options }, key, item, edges);
    const target = joinPath(`${root}/`, text(directory) ?? "");
    directories.set(target, edges);
    return { folder: target };
  };
  return {
    find({ name, range, is_optional }, from) {
      if (range.startsWith("link:")) return { folder: joinPath(`${from}/`, range.slice(5)) };
      const keys = [range, `${name}@${range}`, `/${name}@${range}`];
      const key = keys.find((each) => Object.hasOwn(snapshots, each));
      const item = key && record(packages[withoutPeers(key)] ?? packages[key]);
      if (is_optional && (!item || isNative(item))) return null;
      if (item) return toTarget(key, item);
      throw unreadable(path, `it lacks ${name}@${range}. Run pnpm install and commit it`);
    },
    edgesOf(at) {
      const importer = importers[at === root ? "." : at.slice(root.length + 1)];
      const edges = importer === undefined ? directories.get(at) : undefined;
      return edges ?? importerEdges(record(importer), at === options.project);
    },
  };
}

function importerEdges(importer: Entry, isProject: boolean): Edge[] {
  return edgesOf({
    dependencies: {
      ...(isProject && versionsOf(importer.devDependencies)),
      ...versionsOf(importer.dependencies),
    },
    optionalDependencies: versionsOf(importer.optionalDependencies),
  });
}

/** Links of snapshots are relative to the lockfile, those of importers to the importer. */
function snapshotEdges(root: string, snapshot: Entry): Edge[] {
  const edges = edgesOf({
    dependencies: texts(snapshot.dependencies),
    optionalDependencies: texts(snapshot.optionalDependencies),
  });
  return edges.map((edge) => ({ ...edge, range: edge.range.replace(/^link:/, `link:${root}/`) }));
}

function assertVersion(path: string, lock: Entry): void {
  const version = String(lock.lockfileVersion ?? "unknown");
  if (!VERSIONS.includes(version)) {
    const remedy = "Run pnpm install with pnpm 8 or newer and commit the file";
    throw unreadable(path, `it has version ${version}; Heddle reads 6 and 9. ${remedy}`);
  }
}

/** Returns versions by name from `{name: {specifier, version}}` of an importer. */
function versionsOf(dependencies: unknown): Record<string, string> {
  const entries = Object.entries(record(dependencies));
  return texts(Object.fromEntries(entries.map(([name, each]) => [name, record(each).version])));
}

function isNative({ os, cpu }: Entry): boolean {
  return os !== undefined || cpu !== undefined;
}

/** Removes the peers of a key: `name@1.0.0(peer@2.0.0)` is a copy of `name@1.0.0` for this peer. */
function withoutPeers(key: string): string {
  const at = key.indexOf("(");
  return at < 0 ? key : key.slice(0, at);
}

type Context = { path: string; patched: string[]; registry_url: string };

function toPackage(
  { path, patched, registry_url }: Context,
  key: string,
  item: Entry,
  edges: Edge[],
): LockTarget {
  const plain = withoutPeers(key).replace(/^\//, "");
  const at = plain.lastIndexOf("@");
  const [name, version] = [plain.slice(0, at), plain.slice(at + 1)];
  const { tarball, integrity, type, repo } = record(item.resolution);
  const source = type === "git" || repo !== undefined ? `git:${repo}` : text(tarball);
  return {
    key,
    name: text(item.name) ?? name,
    version: text(item.version) ?? version,
    ...tarballOf(path, name, version, source, registry_url),
    ...refusalOfPatch(path, patched, name, version),
    // `patchedDependencies` may name a range of versions. Keys of patched packages have the hash of the patch.
    ...(/^[^(]*\(patch_hash=/.test(key) && { refusal: unpatched(path, name) }),
    integrity: text(integrity),
    edges,
    // A snapshot lists its resolved peers among its dependencies.
    peers: [],
  };
}
