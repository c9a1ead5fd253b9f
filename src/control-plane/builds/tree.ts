import type { SourceCommit } from "./contract.ts";
import { BuildFailure } from "./failure.ts";
import { ASSET_BYTES, SOURCE_LIMITS } from "./limits.ts";
import { directoryOf } from "./paths.ts";
import { bytesText } from "./text.ts";

/** A revision's source. Paths are relative, with slashes. */
export type Tree = {
  files: Map<string, Uint8Array>;
  /** Paths of files that cannot be part of a bundle, such as large images, data and native addons. */
  others: Set<string>;
  /** Targets of symbolic and hard links, by the path of the link. */
  links: Map<string, string>;
  /** Additional paths of files, which go through a link. `files` and `others` have them too. */
  aliases: Set<string>;
  commit: SourceCommit | null;
  /** Sum of the sizes of `files` and `others`. A file counts once, without its aliases. */
  bytes: number;
};

type TreeEntry = { name: string; size: number; type: string; linkname?: string | undefined };

const READABLE =
  /\.([cm]?[jt]sx?|jsonc?|txt|md|sql|html|graphql|ya?ml|csv|tsv|xml|toml|ini|jinja2?|j2|hbs|mustache|njk|ejs|liquid|prompt|tmpl|wasm)$/;
/** Assets of components, bundled only when they are small. */
const ASSET = /\.(css|svg|png|jpe?g|gif|webp|woff2?)$/;
const LOCK = /(^|\/)(yarn|bun)\.lock$/;
const MODULES = /(^|\/)\.gitmodules$/;
const ENVIRONMENT = /(^|\/)\.env[^/]*$|\.env$/;

export function emptyTree(): Tree {
  const sets = { others: new Set<string>(), aliases: new Set<string>() };
  return { files: new Map(), links: new Map(), ...sets, commit: null, bytes: 0 };
}

export function isReadable(path: string, bytes: number): boolean {
  if (ASSET.test(path)) return bytes <= ASSET_BYTES;
  return [READABLE, ENVIRONMENT, LOCK, MODULES].some((pattern) => pattern.test(path));
}

/**
 * Normalizes a path of an archive or of a git tree. @returns `null` for the root
 * @throws BuildFailure for a path that is absolute, is too long, or has `..`, a backslash or a NUL
 */
export function safePath(name: string): string | null {
  const segments = name.split("/");
  const isUnsafe =
    name.startsWith("/") || /^[a-z]:/i.test(name) || /[\\\0]/.test(name) || segments.includes("..");
  if (isUnsafe) throw unsafe(`The archive holds "${name}", a path that leaves its folder.`);
  if (name.length > SOURCE_LIMITS.path_characters) {
    throw unsafe(`The archive holds a path of ${name.length} characters.`);
  }
  const path = segments.filter((segment) => segment !== "" && segment !== ".").join("/");
  return path === "" ? null : path;
}

/** Returns the top folder that contains all files, as in archives of git hosts. @returns `null` without one */
export function sharedFolder(tree: Tree): string | null {
  const folders = new Set([...tree.files.keys(), ...tree.others].map((path) => topOf(path)));
  const [folder = null] = folders;
  return folders.size === 1 ? folder : null;
}

function topOf(path: string): string | null {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : null;
}

/** Removes the top folder from all paths. The target of a link out of it begins with `../` and leads to no file. */
export function withoutFolder(tree: Tree): Tree {
  const strip = (path: string) => path.slice(path.indexOf("/") + 1);
  const targetOf = (path: string, to: string) => {
    const folder = topOf(path);
    if (to === folder) return "";
    return to.startsWith(`${folder}/`) ? strip(to) : `../${to}`;
  };
  return {
    ...tree,
    files: new Map([...tree.files].map(([path, bytes]) => [strip(path), bytes])),
    others: new Set([...tree.others].map(strip)),
    links: new Map([...tree.links].map(([path, to]) => [strip(path), targetOf(path, to)])),
  };
}

/** @throws BuildFailure when the target of a link is outside of the tree */
export function assertSafeLink({ name, type, linkname = "" }: TreeEntry): void {
  if (isInside(type === "symlink" ? directoryOf(name) : "", linkname)) return;
  throw unsafe(`The archive holds the link "${name}" to "${linkname}", outside its folder.`);
}

/** Whether the target of a link in a folder is in the tree. */
export function isInside(folder: string, target: string): boolean {
  const depth = `${folder}/${target}`.split("/").reduce((level, segment) => {
    if (level < 0 || segment === "" || segment === ".") return level;
    return segment === ".." ? level - 1 : level + 1;
  }, 0);
  return !target.startsWith("/") && depth >= 0;
}

/** Returns one path for each file: the paths without aliases. */
export function ownPaths({ files, aliases }: Tree): string[] {
  return [...files.keys()].filter((path) => !aliases.has(path));
}

export function addLink(tree: Tree, path: string, target: string): void {
  if (tree.links.size >= SOURCE_LIMITS.files) {
    throw tooLarge(`The source has more than ${SOURCE_LIMITS.files} links.`);
  }
  tree.links.set(path, target);
}

/**
 * Adds the size of a file to the tree.
 * @throws BuildFailure for too many files, for a file that is too large, or when all files are too large together
 */
export function countFile(tree: Tree, entry: TreeEntry): void {
  if (tree.files.size + tree.others.size >= SOURCE_LIMITS.files) {
    throw tooLarge(`The source has more than ${SOURCE_LIMITS.files} files.`);
  }
  if (entry.size > SOURCE_LIMITS.file_bytes) {
    const limit = bytesText(SOURCE_LIMITS.file_bytes);
    throw tooLarge(`${entry.name} has ${bytesText(entry.size)}; the limit is ${limit}.`);
  }
  tree.bytes += entry.size;
  if (tree.bytes > SOURCE_LIMITS.total_bytes) {
    throw tooLarge(`The source has more than ${bytesText(SOURCE_LIMITS.total_bytes)} unpacked.`);
  }
}

function unsafe(message: string): BuildFailure {
  return new BuildFailure("source_unsafe", message);
}

export function tooLarge(message: string): BuildFailure {
  return new BuildFailure("source_too_large", message);
}
