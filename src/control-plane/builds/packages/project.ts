import { isRecord } from "../../../shared/guards.ts";
import { readJson } from "../config/json-file.ts";
import { BuildFailure } from "../failure.ts";
import { JSON_BYTES } from "../limits.ts";
import { ancestors, directoryOf, joinPath } from "../paths.ts";
import type { Tree } from "../tree.ts";
import type { Manifest } from "./lockfile.ts";

/** Folders of the agent's package.json and lockfile; both may be above langgraph.json, as in a monorepo. */
export type NpmProject = {
  /** Folder of package.json, or of langgraph.json without one. */
  folder: string;
  manifest: Manifest | null;
  lock: { folder: string; text: string } | null;
  /** A lockfile of another package manager, which is not read. */
  foreign_lock: string | null;
};

const FOREIGN = ["yarn.lock", "pnpm-lock.yaml", "bun.lock", "npm-shrinkwrap.json"];

const MAPS = [
  "dependencies",
  "optionalDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "overrides",
];

export function readProject(tree: Tree, config_path: string): NpmProject {
  const home = directoryOf(joinPath("", config_path));
  const folder = nearest(tree, home, "package.json");
  const lockFolder = folder === null ? null : nearest(tree, folder, "package-lock.json");
  const foreign = FOREIGN.find((name) => folder !== null && tree.files.has(joinPath(folder, name)));
  return {
    folder: folder ?? home,
    manifest: folder === null ? null : readManifest(tree, joinPath(folder, "package.json")),
    lock:
      lockFolder === null
        ? null
        : {
            folder: lockFolder,
            text: textOf(tree, joinPath(lockFolder, "package-lock.json")) ?? "",
          },
    foreign_lock: foreign ?? null,
  };
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
