import { SPECIFIER_CHARACTERS } from "../limits.ts";
import { ancestors, joinPath } from "../paths.ts";
import type { Disk } from "./disk.ts";
import { splitPackagePath } from "./disk.ts";
import { type ImportKind, resolveExports, resolveImports } from "./exports.ts";
import { aliasesOf, type TsConfig } from "./tsconfig.ts";

export type Resolved =
  | { type: "file"; path: string; has_side_effects: boolean }
  | { type: "builtin"; name: string }
  /** A package of the prebuilt runtime; `specifier` is how its entry is called. */
  | { type: "provided"; specifier: string }
  /** In the lockfile, not fetched so far: fetch it and bundle again. */
  | { type: "missing"; directory: string }
  /** Installed nowhere: whoever can do without it may go on. */
  | { type: "absent"; text: string }
  | { type: "error"; text: string };

export type Resolver = (specifier: string, directory: string, kind: RequestKind) => Resolved;

type ResolverOptions = {
  disk: Disk;
  tsconfig: TsConfig;
  /** Directories of packages that the prebuilt runtime stands for. */
  provided: Set<string>;
  isBuiltin: (name: string) => boolean;
  /** Where the code runs: an isolate, unless it says otherwise. */
  platform?: "browser";
};

export type RequestKind = "import" | "require" | "style";

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"];
const BARE = /^((?:@[^/]+\/)?[^/]+)(?:\/(.*))?$/;

export function createResolver(options: ResolverOptions): Resolver {
  return (specifier, directory, request) => {
    const kind =
      options.platform === "browser" ? (`browser_${request}` as const) : ofIsolate(request);
    return resolveFrom(options, specifier, directory, kind);
  };
}

/** An isolate has no styles. */
function ofIsolate(request: RequestKind): ImportKind {
  return request === "require" ? "require" : "import";
}

function resolveFrom(
  options: ResolverOptions,
  specifier: string,
  directory: string,
  kind: ImportKind,
): Resolved {
  if (specifier.length > SPECIFIER_CHARACTERS) {
    const text = `An import has ${specifier.length} characters; at most ${SPECIFIER_CHARACTERS} are allowed`;
    return { type: "error", text };
  }
  if (specifier.startsWith("/") || /^\.\.?(\/|$)/.test(specifier)) {
    return resolvePath(options, joinPath(`${directory}/`, specifier), specifier);
  }
  if (specifier.startsWith("#")) return resolveOwn(options, specifier, directory, kind);
  if (/^(node|cloudflare):/.test(specifier) || options.isBuiltin(specifier)) {
    return { type: "builtin", name: specifier };
  }
  return (
    resolveAlias(options, specifier, directory) ?? resolveBare(options, specifier, directory, kind)
  );
}

function resolvePath(options: ResolverOptions, path: string, specifier: string): Resolved {
  const found = findFile(options.disk, path);
  if (found !== null) return toFile(options, found);
  return { type: "error", text: `Could not resolve "${specifier}": there is no such file` };
}

/** tsconfig's `paths` speak for the source, not for packages. */
function resolveAlias(
  options: ResolverOptions,
  specifier: string,
  directory: string,
): Resolved | null {
  if (splitPackagePath(directory) !== null) return null;
  for (const candidate of aliasesOf(options.tsconfig, specifier)) {
    const found = findFile(options.disk, `/${candidate}`);
    if (found !== null) return toFile(options, found);
  }
  return null;
}

function resolveOwn(
  options: ResolverOptions,
  specifier: string,
  directory: string,
  kind: ImportKind,
): Resolved {
  for (const at of ancestors(directory)) {
    const manifest = options.disk.manifest(at);
    if (manifest === null) continue;
    const target = resolveImports(manifest.imports, specifier, kind);
    if (target?.startsWith("./"))
      return resolvePath(options, joinPath(`${at}/`, target), specifier);
    if (target != null) return resolveFrom(options, target, at, kind);
    break;
  }
  return {
    type: "error",
    text: `Could not resolve "${specifier}": no package.json maps it under "imports"`,
  };
}

function resolveBare(
  options: ResolverOptions,
  specifier: string,
  directory: string,
  kind: ImportKind,
): Resolved {
  const [, name = specifier, rest = ""] = BARE.exec(specifier) ?? [];
  const wanted: Wanted = { specifier, name, subpath: rest === "" ? "." : `./${rest}`, kind };
  for (const at of ancestors(directory)) {
    const found = at.endsWith("/node_modules") ? null : resolveAt(options, at, wanted);
    if (found !== null) return found;
  }
  return { type: "absent", text: notInstalled(specifier, name) };
}

type Wanted = { specifier: string; name: string; subpath: string; kind: ImportKind };

function resolveAt(options: ResolverOptions, at: string, wanted: Wanted): Resolved | null {
  const { disk, provided } = options;
  const place = `${at}/node_modules/${wanted.name}`;
  if (provided.has(place)) {
    return { type: "provided", specifier: wanted.name + wanted.subpath.slice(1) };
  }
  if (disk.isMissing(place)) return { type: "missing", directory: place };
  const manifest = disk.manifest(at);
  const isSelf = manifest?.name === wanted.name && manifest.exports !== undefined;
  const home = disk.link(place) ?? (disk.isInstalled(place) ? place : null) ?? (isSelf ? at : null);
  return home === null ? null : resolveIn(options, home, wanted);
}

function notInstalled(specifier: string, name: string): string {
  return `Could not resolve "${specifier}": the package "${name}" is not installed; add it to dependencies in package.json`;
}

function resolveIn(options: ResolverOptions, directory: string, wanted: Wanted): Resolved {
  const { specifier, subpath, kind } = wanted;
  const map = options.disk.manifest(directory)?.exports ?? null;
  const target = map === null ? subpath : resolveExports(map, subpath, kind);
  if (target === null) {
    const text = `Could not resolve "${specifier}": its package.json exports no "${subpath}"`;
    return { type: "error", text };
  }
  return resolvePath(options, joinPath(`${directory}/`, target), specifier);
}

function findFile(disk: Disk, path: string): string | null {
  return findScript(disk, path) ?? findInFolder(disk, path);
}

function findScript(disk: Disk, path: string): string | null {
  if (disk.has(path)) return path;
  const twin = path.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  if (twin !== path) {
    const found = [twin, twin.replace(/\.ts$/, ".tsx")].find((candidate) => disk.has(candidate));
    if (found !== undefined) return found;
  }
  const extension = EXTENSIONS.find((candidate) => disk.has(path + candidate));
  return extension === undefined ? null : path + extension;
}

function findInFolder(disk: Disk, directory: string): string | null {
  const manifest = disk.manifest(directory);
  for (const main of [manifest?.module, manifest?.main]) {
    if (typeof main !== "string") continue;
    const path = joinPath(`${directory}/`, main);
    const found = findScript(disk, path) ?? findScript(disk, `${path}/index`);
    if (found !== null) return found;
  }
  return findScript(disk, `${directory}/index`);
}

function toFile({ disk }: ResolverOptions, path: string): Resolved {
  const inside = splitPackagePath(path);
  const manifest = inside ? disk.manifest(inside.directory) : null;
  return { type: "file", path, has_side_effects: manifest?.sideEffects !== false };
}
