import type { BuildFailureReason } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { joinPath } from "../paths.ts";
import { listText } from "../text.ts";
import type { Tree } from "../tree.ts";

/** Submodules and Git LFS files: git stores a reference in place of the contents, and a build does not follow it. */

const POINTER = "version https://git-lfs.github.com/spec/v1\n";
/** Maximum size of a pointer: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md */
const POINTER_BYTES = 1024;
const MODULES = ".gitmodules";
const MODULES_BYTES = 64 * 1024;
/** Limits the work, because each submodule visits every file. */
const MAX_MODULES = 100;

const POINTER_REMEDY = "commit it without LFS (git lfs migrate export), or deploy an upload";
const MODULE_REMEDY = "commit its files, add it as a package, or deploy an upload";

/** Returns a warning for each kind of reference that the source has. */
export function referenceWarnings(tree: Tree): string[] {
  const pointers = [...tree.files.keys()].filter((path) => isPointer(tree, path));
  const submodules = emptySubmodules(tree);
  return [
    ...(pointers.length > 0
      ? [
          `Git LFS pointers are in place of files, which are not fetched: ${listText(pointers)}. Remedy for each: ${POINTER_REMEDY}.`,
        ]
      : []),
    ...(submodules.length > 0
      ? [
          `Git submodules are empty, because they are not fetched: ${listText(submodules)}. Remedy for each: ${MODULE_REMEDY}.`,
        ]
      : []),
  ];
}

/** @throws BuildFailure when git stores only a reference to the file */
export function assertContent(tree: Tree, path: string, reason: BuildFailureReason): void {
  if (isPointer(tree, path)) {
    const text = `${path} is a Git LFS pointer, whose file a build does not fetch: ${POINTER_REMEDY}.`;
    throw new BuildFailure(reason, text);
  }
  if (tree.files.has(path)) return;
  const folder = emptySubmodules(tree).find((each) => path.startsWith(`${each}/`));
  if (folder === undefined) return;
  const text = `${path} is in the git submodule ${folder}, which a build does not fetch: ${MODULE_REMEDY}.`;
  throw new BuildFailure(reason, text);
}

function isPointer({ files }: Tree, path: string): boolean {
  const bytes = files.get(path);
  if (bytes === undefined || bytes.byteLength > POINTER_BYTES) return false;
  return new TextDecoder().decode(bytes.subarray(0, POINTER.length)) === POINTER;
}

/** Returns the folders of submodules without files. An upload may have their files. */
function emptySubmodules({ files, others }: Tree): string[] {
  const bytes = files.get(MODULES)?.subarray(0, MODULES_BYTES);
  if (bytes === undefined) return [];
  const folders = new TextDecoder().decode(bytes).split("\n").flatMap(pathOf);
  const names = [...files.keys(), ...others];
  return folders
    .slice(0, MAX_MODULES)
    .filter((folder) => !names.some((name) => name.startsWith(`${folder}/`)));
}

/** Reads a line like `path = vendor/lib`. */
function pathOf(line: string): string[] {
  const [key = "", ...value] = line.split("=");
  const path = joinPath("", value.join("=").trim().replaceAll('"', ""));
  return key.trim() === "path" && path !== "" ? [path] : [];
}
