import enhanced from "enhanced-resolve";
import { directoryOf } from "../paths.ts";
import { type Disk, splitPackagePath } from "./disk.ts";
import { findSourceOf } from "./unbuilt.ts";

export type Resolution =
  | { type: "file"; path: string; has_side_effects: boolean }
  | { type: "builtin"; name: string }
  /** A file that its package excludes from bundles for browsers. */
  | { type: "left-out" }
  /** A package of the prebuilt runtime. `specifier` is the key of its entry in `Runtime.entries`. */
  | { type: "provided"; specifier: string }
  /** Package of the lockfile that is not fetched yet: fetch it and bundle again. */
  | { type: "missing"; directory: string }
  /** Package that is not installed. Importers may work without it. */
  | { type: "absent"; text: string }
  /** `source`: the file from which a build script would make the missing one. */
  | { type: "error"; text: string; source?: string };

export type Packages = {
  disk: Disk;
  /** Directories of packages that the prebuilt runtime replaces. */
  provided: Set<string>;
  isBuiltin: (name: string) => boolean;
};

type Options = Parameters<typeof enhanced.ResolverFactory.createResolver>[0];
type Plugin = Extract<NonNullable<Options["plugins"]>[number], { apply: unknown }>;
/**
 * State of one resolution. `bare` is the specifier of a package or builtin, `home` the folder of the package, `absent`
 * its first file that does not exist, and `end` a result that needs no file.
 */
type Visit = { bare?: string; home?: string; absent?: string; end?: Resolution };

const BARE = /^(?:@[^/]+\/)?[^/]+/;
const ENOENT = Object.assign(new Error("no such file"), { code: "ENOENT" });

/** Runs enhanced-resolve over the disk of a build. The disk calls back synchronously, so `resolve` does too. */
export function diskResolver(
  packages: Packages,
  options: Omit<Options, "fileSystem">,
): (specifier: string, directory: string) => Resolution {
  let visit: Visit = {};
  const resolver = enhanced.ResolverFactory.createResolver({
    ...options,
    fileSystem: toFileSystem(packages, () => visit),
    plugins: [packagePlugin(packages, () => visit)],
    pnpApi: null,
  });
  for (const hook of Object.values(resolver.hooks)) Object.assign(hook, { compile: callInTurn });
  return (specifier, directory) => {
    visit = {};
    let path: string | false | undefined;
    resolver.resolve({}, directory || "/", specifier, {}, (_error, _formatted, request) => {
      path = request?.path;
    });
    if (visit.end) return visit.end;
    if (path === false) return { type: "left-out" };
    return path ? toFile(packages.disk, path) : toFailure(packages.disk, specifier, visit);
  };
}

type Done = (error?: Error | null, result?: unknown) => void;
type Taps = { type: string; taps: { fn: (...args: unknown[]) => void }[] };

/** Replaces the compiler of a hook's taps, which generates functions from text: workerd refuses that. */
function callInTurn({ type, taps }: Taps) {
  // Synchronous hooks are for logs, and have no taps here.
  if (type === "sync") return () => undefined;
  return (request: unknown, context: unknown, done: Done) => {
    const call = ([tap, ...others]: typeof taps): void => {
      const next: Done = (error, result) =>
        error || result !== undefined ? done(error, result) : call(others);
      if (tap) tap.fn(request, context, next);
      else done();
    };
    call(taps);
  };
}

/** Ends a resolution at builtins, at provided packages, and at packages that are not fetched yet. */
function packagePlugin({ disk, provided, isBuiltin }: Packages, current: () => Visit): Plugin {
  const endOf = (path: string, subpath: string): Resolution | undefined => {
    const name = path.slice(path.lastIndexOf("/node_modules/") + "/node_modules/".length);
    if (provided.has(path)) return { type: "provided", specifier: name + subpath };
    return disk.isMissing(path) ? { type: "missing", directory: path } : undefined;
  };
  const visitPackage = (visit: Visit, path: string, subpath: string) => {
    const end = endOf(path, subpath);
    const target = disk.link(path);
    if (end) visit.end = end;
    else if (disk.isInstalled(path)) visit.home ??= path;
    else if (target !== null) visit.home ??= target;
    return end && { path };
  };
  return {
    apply(resolver) {
      resolver.getHook("before-raw-module").tapAsync("builtins", (request, _context, callback) => {
        const visit = current();
        visit.bare = request.request ?? "";
        if (isBuiltin(visit.bare)) visit.end = { type: "builtin", name: visit.bare };
        callback(null, visit.end && request);
      });
      resolver
        .getHook("before-resolve-as-module")
        .tapAsync("packages", ({ path, request = "" }, _context, callback) => {
          callback(null, path ? visitPackage(current(), path, request.slice(1)) : undefined);
        });
    },
  };
}

/**
 * Reports a `node_modules` folder only if it has the requested package. Reports that every other folder exists: the
 * disk has no list of folders, and the files in them decide.
 */
function toFileSystem({ disk, provided }: Packages, current: () => Visit): Options["fileSystem"] {
  const realPath = (path: string) => {
    const inside = splitPackagePath(path);
    const target = inside && disk.link(inside.directory);
    return target ? `${target}/${inside.rest}` : path;
  };
  const isKnown = (path: string) =>
    provided.has(path) ||
    disk.isMissing(path) ||
    disk.isInstalled(path) ||
    disk.link(path) !== null;
  const stat = (path: string) => {
    const file = realPath(path);
    const isFile = disk.has(file);
    if (!isFile) noteAbsent(current(), file);
    const isFolder =
      !path.endsWith("/node_modules") || isKnown(`${path}/${packageName(current().bare)}`);
    return isFile || isFolder ? { isFile: () => isFile, isDirectory: () => !isFile } : null;
  };
  const methods = {
    stat: answering(stat),
    readlink: answering((path) => disk.link(path)),
    readJson: answering((path) => disk.manifest(directoryOf(realPath(path)))),
  };
  return methods as unknown as Options["fileSystem"];
}

function noteAbsent(visit: Visit, file: string): void {
  if (visit.home && file.startsWith(`${visit.home}/`) && !file.endsWith("/")) visit.absent ??= file;
}

function packageName(specifier = ""): string {
  return BARE.exec(specifier)?.[0] ?? specifier;
}

function answering<T>(read: (path: string) => T | null) {
  return (path: string, callback: (error: Error | null, value?: T) => void) => {
    const value = read(path);
    if (value === null) callback(ENOENT);
    else callback(null, value);
  };
}

function toFile(disk: Disk, path: string): Resolution {
  const inside = splitPackagePath(path);
  const manifest = inside ? disk.manifest(inside.directory) : null;
  return { type: "file", path, has_side_effects: manifest?.sideEffects !== false };
}

function toFailure(disk: Disk, specifier: string, { bare, home, absent }: Visit): Resolution {
  const failure = `Could not resolve "${specifier}":`;
  if (bare === undefined) {
    const why = specifier.startsWith("#")
      ? 'no package.json maps it under "imports"'
      : "the file does not exist";
    return { type: "error", text: `${failure} ${why}` };
  }
  const name = packageName(bare);
  if (home === undefined) {
    const why = `the package "${name}" is not installed; add it to dependencies in package.json`;
    return { type: "absent", text: `${failure} ${why}` };
  }
  const text = `${failure} ${packageFailure(disk, bare, home, absent)}`;
  const source = absent && findSourceOf(absent, home, (path) => disk.has(path));
  return source ? { type: "error", text, source } : { type: "error", text };
}

function packageFailure(disk: Disk, bare: string, home: string, absent = ""): string {
  const manifest = disk.manifest(home);
  const folder = home.slice(1);
  if (manifest === null) return `${folder}/package.json does not exist`;
  if (absent !== "" && splitPackagePath(home) === null) {
    const file = `.${absent.slice(home.length)}`;
    return `${file} of ${folder} does not exist, nor its source; commit it, or export a committed file in ${folder}/package.json`;
  }
  return manifest.exports === undefined
    ? "the file does not exist"
    : `its package.json exports no ".${bare.slice(packageName(bare).length)}"`;
}
