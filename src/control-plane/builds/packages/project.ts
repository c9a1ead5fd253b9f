import { isRecord } from "../../../shared/guards.ts";
import { readJson } from "../config/json-file.ts";
import { BuildFailure } from "../failure.ts";
import { JSON_BYTES } from "../limits.ts";
import { dependencyNames, type Manifest } from "../locks/install-tree.ts";
import { type Workspaces, workspacesOf } from "../locks/workspaces.ts";
import { ancestors, directoryOf, joinPath } from "../paths.ts";
import type { Tree } from "../tree.ts";

/** The agent's package.json and lockfile. Both may be above langgraph.json, as in a monorepo. */
export type NpmProject = {
  /** Folder of package.json, or that of langgraph.json if there is none. Relative to the root of the source. */
  folder: string;
  manifest: Manifest | null;
  lock: Lock | null;
  /** Other lockfiles in the folder of `lock`, which are not read. */
  ignored_locks: string[];
  workspaces: Workspaces;
  /** Absolute folders of `manifest`, of the graphs' package.json, and of the workspaces' root. */
  importers: string[];
  /** Folder of tsconfig.json, relative to the root of the source. */
  tsconfig_folder: string | null;
};

export type Lock = { folder: string; file: LockFile; text: string };
export type LockFile = (typeof LOCK_FILES)[number];

/** Lockfiles by preference. `packageManager` of package.json overrides it. */
const LOCK_FILES = [
  "npm-shrinkwrap.json",
  "package-lock.json",
  "yarn.lock",
  "pnpm-lock.yaml",
  "bun.lock",
] as const;
const BINARY_LOCK = "bun.lockb";

export const MANAGERS: Record<LockFile, string> = {
  "npm-shrinkwrap.json": "npm",
  "package-lock.json": "npm",
  "yarn.lock": "yarn",
  "pnpm-lock.yaml": "pnpm",
  "bun.lock": "bun",
};

const MAPS = [
  "dependencies",
  "optionalDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "overrides",
  "resolutions",
];

/** @param graph_paths relative to the root of the source */
export function readProject(tree: Tree, config_path: string, graph_paths: string[]): NpmProject {
  const home = directoryOf(joinPath("", config_path));
  const workspaces = workspacesOf(tree);
  const folder = packageFolder(tree, workspaces, home, graph_paths);
  const locks = folder === null ? [] : nearestLocks(tree, workspaces, folder);
  const manager = managerOf(workspaces, locks[0]?.folder ?? "");
  const lock = locks.find(({ file }) => MANAGERS[file] === manager) ?? locks[0] ?? null;
  return {
    folder: folder ?? home,
    manifest: folder === null ? null : readManifest(tree, joinPath(folder, "package.json")),
    lock,
    ignored_locks: locks.filter((each) => each !== lock).map(({ file }) => file),
    workspaces,
    importers: importerFolders(tree, workspaces, folder ?? home, graph_paths),
    tsconfig_folder: tsconfigFolder(tree, home, folder ?? home, graph_paths),
  };
}

function importerFolders(
  tree: Tree,
  workspaces: Workspaces,
  folder: string,
  graph_paths: string[],
): string[] {
  const ofGraphs = graph_paths.map((path) => nearest(tree, directoryOf(path), "package.json"));
  const folders = [folder, ...ofGraphs.filter((each) => each !== null)].map(absolute);
  const roots = folders.flatMap((each) => workspaces.rootOf(each) ?? []);
  return [...new Set([...folders, ...roots])];
}

/**
 * Returns the folder of a tsconfig.json: the one nearest to langgraph.json, or to the agent's package if that is not
 * above langgraph.json, or else to a graph.
 */
function tsconfigFolder(tree: Tree, home: string, folder: string, graph_paths: string[]) {
  const start = [...ancestors(home)].includes(folder) ? home : folder;
  const folders = [start, ...graph_paths.map(directoryOf)];
  const found = folders.map((from) => nearest(tree, from, "tsconfig.json"));
  return found.find((each) => each !== null) ?? null;
}

/**
 * Returns the folder of the package.json that is nearest to langgraph.json. If that one does not depend on LangGraph
 * and the one nearest to a graph does, returns the folder of the graph's. @returns `null` without a package.json
 */
function packageFolder(
  tree: Tree,
  workspaces: Workspaces,
  home: string,
  graph_paths: string[],
): string | null {
  const near = nearest(tree, home, "package.json");
  const declaresLangGraph = (folder: string | null) =>
    folder !== null &&
    dependencyNames(workspaces.manifest(absolute(folder)) ?? {}).includes("@langchain/langgraph");
  if (declaresLangGraph(near)) return near;
  const ofGraphs = graph_paths.map((path) => nearest(tree, directoryOf(path), "package.json"));
  return ofGraphs.find(declaresLangGraph) ?? near;
}

/** @param folder relative to the root of the source */
export const absolute = (folder: string) => (folder === "" ? "" : `/${folder}`);

/** Returns the lockfiles of the nearest folder, `from` or above, that has one for `from`. */
function nearestLocks(tree: Tree, workspaces: Workspaces, from: string): Lock[] {
  for (const folder of ancestors(from)) {
    const locks = LOCK_FILES.flatMap((file) => {
      const text = textOf(tree, joinPath(folder, file));
      return text === null ? [] : [{ folder, file, text }];
    });
    const covering = locks.filter((lock) => covers(lock, workspaces, from));
    if (covering.length > 0) return covering;
    const binary = joinPath(folder, BINARY_LOCK);
    if (!tree.others.has(binary) && !tree.files.has(binary)) continue;
    if (!covers({ folder, text: "" }, workspaces, from)) continue;
    const text = `${binary} is binary: run bun install --save-text-lockfile and commit bun.lock.`;
    throw new BuildFailure("dependency_unresolved", text);
  }
  return [];
}

/** Returns whether a lockfile is for `from`. Package managers ignore an outer one that does not list this workspace. */
function covers(
  { folder, text }: Omit<Lock, "file">,
  workspaces: Workspaces,
  from: string,
): boolean {
  if (folder === from || workspaces.rootOf(absolute(from)) === absolute(folder)) return true;
  if (dependencyNames(workspaces.manifest(absolute(from)) ?? {}).length === 0) return true;
  const path = from.slice(folder === "" ? 0 : folder.length + 1);
  return [`"${path}": {`, `\n  ${path}:\n`, `@workspace:${path}"`].some((line) =>
    text.includes(line),
  );
}

/** Reads the name from `packageManager` of package.json, such as `yarn@1.22.22`. */
export function managerOf(workspaces: Workspaces, folder: string): string | undefined {
  const { packageManager } = workspaces.manifest(absolute(folder)) ?? {};
  return typeof packageManager === "string" ? packageManager.split("@")[0] : undefined;
}

export function textOf(tree: Tree, path: string): string | null {
  const bytes = tree.files.get(path);
  return bytes === undefined ? null : new TextDecoder().decode(bytes);
}

function nearest(tree: Tree, from: string, name: string): string | null {
  for (const folder of ancestors(from)) if (tree.files.has(joinPath(folder, name))) return folder;
  return null;
}

function readManifest(tree: Tree, path: string): Manifest {
  const value = readJson(path, textOf(tree, path) ?? "", JSON_BYTES.manifest, "config_invalid");
  if (!isRecord(value)) throw new BuildFailure("config_invalid", `${path}: must be an object.`);
  for (const key of MAPS) {
    if (value[key] === undefined || isRecord(value[key])) continue;
    throw new BuildFailure("config_invalid", `${path}: "${key}" must be an object.`);
  }
  return value as Manifest;
}
