import { isRecord } from "../../../shared/guards.ts";
import { isShallow } from "../../../shared/http/depth.ts";
import { JSON_BYTES } from "../limits.ts";
import { directoryOf } from "../paths.ts";
import { ownPaths, type Tree } from "../tree.ts";
import type { Manifest } from "./install-tree.ts";
import { workspaceRoots } from "./workspace-patterns.ts";

/** The packages of a monorepo, by name and by folder, such as `/packages/a`. The root of the source is the empty text. */
export type Workspaces = {
  /** @returns `null` for a file that is missing, too large or not valid */
  manifest(folder: string): Manifest | null;
  folderOf(name: string): string | null;
  /** The root of the workspace that has a folder, `null` without one. Both are absolute. */
  rootOf(folder: string): string | null;
  /** @param path relative to the root of the source */
  read(path: string): string | null;
};

export function workspacesOf(tree: Tree): Workspaces {
  const { files } = tree;
  const manifests = new Map<string, Manifest | null>();
  const manifest = (folder: string) => {
    const known = manifests.get(folder);
    if (known !== undefined) return known;
    const read = parse(files.get(`${folder}/package.json`.slice(1)));
    manifests.set(folder, read);
    return read;
  };
  const read = (path: string) => {
    const bytes = files.get(path);
    return bytes === undefined ? null : new TextDecoder().decode(bytes);
  };
  let names: Map<string, string> | null = null;
  return {
    manifest,
    read,
    rootOf: workspaceRoots({ manifest, read }),
    folderOf(name) {
      names ??= namesOf(ownPaths(tree), manifest);
      return names.get(name) ?? null;
    },
  };
}

function namesOf(paths: string[], manifest: (folder: string) => Manifest | null) {
  const folders = paths
    .filter((path) => /(^|\/)package\.json$/.test(path) && !path.includes("node_modules/"))
    .map((path) => directoryOf(`/${path}`));
  return new Map(
    folders.flatMap((folder) => {
      const name = manifest(folder)?.name;
      return typeof name === "string" ? [[name, folder] as const] : [];
    }),
  );
}

function parse(bytes: Uint8Array | undefined): Manifest | null {
  if (bytes === undefined || bytes.byteLength > JSON_BYTES.manifest) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isRecord(value) && isShallow(value) ? (value as Manifest) : null;
  } catch {
    return null;
  }
}
