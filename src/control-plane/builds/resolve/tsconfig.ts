import { isRecord } from "../../../shared/guards.ts";
import { isShallow } from "../../../shared/http/depth.ts";
import type { BuildLog } from "../build-log.ts";
import { parseJsonc } from "../config/json.ts";
import { JSON_BYTES } from "../limits.ts";
import { type Dependencies, installPaths } from "../packages/dependencies.ts";
import type { Installer } from "../packages/install.ts";
import type { NpmProject } from "../packages/project.ts";
import { directoryOf, joinPath } from "../paths.ts";
import type { Tree } from "../tree.ts";
import { createDisk, type Disk } from "./disk.ts";
import { diskResolver } from "./disk-resolver.ts";

export type TsConfig = {
  /** Options for esbuild, which are those of `FOR_ESBUILD`. */
  compilerOptions: Record<string, unknown>;
  /** Absolute folder of `baseUrl`, from which bare specifiers resolve. */
  base: string | null;
  /** Absolute targets by pattern, in the order in which patterns are tried. */
  paths: Record<string, string[]>;
};

type TsConfigRead = TsConfig & {
  /** Packages that a file extends: those of the lockfile to fetch, and those that are not installed. */
  missing: Set<string>;
  absent: string[];
};

const FOR_ESBUILD = [
  "jsx",
  "jsxFactory",
  "jsxFragmentFactory",
  "jsxImportSource",
  "experimentalDecorators",
  "useDefineForClassFields",
  "target",
];
/** Limits all files together, and so chains too: files may extend each other in a circle. */
const MAX_FILES = 16;
const MAX_PATHS = 500;
const MAX_TARGETS = 16;

/** The options with which TypeScript resolves `extends`. */
const EXTENDS = {
  conditionNames: ["require", "types", "node"],
  extensions: [".json"],
  mainFields: ["tsconfig"],
  mainFiles: ["tsconfig"],
};

type Needs = { tree: Tree; project: NpmProject; dependencies: Dependencies; installer: Installer };

/** Reads tsconfig.json. Fetches packages that it extends: often devDependencies, which a build does not install. */
export async function loadTsConfig(log: BuildLog, needs: Needs): Promise<TsConfig> {
  const { tree, project, dependencies, installer } = needs;
  const read = () =>
    readTsConfig(
      project.tsconfig_folder ?? "",
      createDisk(tree, dependencies.install, installer.installed),
    );
  let config = read();
  for (let round = 0; config.missing.size > 0 && round < MAX_FILES; round++) {
    await installPaths(log, installer, dependencies.install, config.missing);
    config = read();
  }
  for (const name of config.absent) {
    log.warn(`tsconfig.json extends "${name}", which is not installed; its options are not used.`);
  }
  return config;
}

export function readTsConfig(folder: string, files: Disk): TsConfigRead {
  const read: TsConfigRead = {
    compilerOptions: {},
    base: null,
    paths: {},
    missing: new Set(),
    absent: [],
  };
  const packages = { disk: files, provided: new Set<string>(), isBuiltin: () => false };
  const resolve = diskResolver(packages, EXTENDS);
  const leaf = `/${folder}`;
  let mapping = null as PathMapping | null;
  let count = 0;
  const merge = (path: string): void => {
    const file = count++ < MAX_FILES ? parseFile(files.read(path)) : null;
    if (file === null) return;
    for (const parent of file.parents) extend(parent, directoryOf(path));
    const { paths } = file.options;
    if (isRecord(paths)) mapping = { paths, directory: directoryOf(path) };
    override(read, file.options, directoryOf(path), leaf);
  };
  const extend = (parent: string, directory: string) => {
    const path = joinPath(`${directory}/`, parent);
    if (/^\.{0,2}\//.test(parent)) return merge(files.has(path) ? path : `${path}.json`);
    const resolved = resolve(parent, directory);
    if (resolved.type === "file") merge(resolved.path);
    else if (resolved.type === "missing") read.missing.add(resolved.directory);
    else read.absent.push(parent);
  };
  merge(joinPath(leaf, "tsconfig.json"));
  return { ...read, paths: mapping === null ? {} : toPaths(mapping, read.base, leaf) };
}

type ConfigFile = { parents: string[]; options: Record<string, unknown> };

function parseFile(bytes: Uint8Array | null): ConfigFile | null {
  if (bytes === null || bytes.length > JSON_BYTES.tsconfig) return null;
  const value = parseJsonc(new TextDecoder().decode(bytes));
  if (!isRecord(value) || !isShallow(value)) return null;
  const parents = [value.extends].flat().filter((parent) => typeof parent === "string");
  const options = isRecord(value.compilerOptions) ? value.compilerOptions : {};
  return { parents: parents.slice(0, MAX_FILES), options };
}

function override(
  config: TsConfig,
  options: Record<string, unknown>,
  directory: string,
  leaf: string,
): void {
  for (const key of FOR_ESBUILD) {
    if (key in options) config.compilerOptions[key] = options[key];
  }
  if (typeof options.baseUrl === "string") {
    config.base = place(options.baseUrl, directory, leaf);
  }
}

/** Makes a path absolute. `${configDir}` is `leaf`, the folder of the file that extends the others. */
function place(path: string, directory: string, leaf: string): string {
  return joinPath(
    `${directory}/`,
    path.replace(/^\$\{configDir\}/, () => leaf),
  );
}

type PathMapping = { paths: Record<string, unknown>; directory: string };

/** Sorts patterns as TypeScript prefers them: without a wildcard first, then those with the longest prefix. */
function toPaths(
  { paths, directory }: PathMapping,
  base: string | null,
  leaf: string,
): Record<string, string[]> {
  const patterns = Object.keys(paths).sort((a, b) => prefixLengthOf(b) - prefixLengthOf(a));
  return Object.fromEntries(
    patterns.slice(0, MAX_PATHS).map((pattern) => {
      const targets = paths[pattern];
      const texts = Array.isArray(targets) ? targets.slice(0, MAX_TARGETS) : [];
      const files = texts.filter((target) => typeof target === "string" && !isDeclaration(target));
      return [pattern, files.map((target) => place(target, base ?? directory, leaf))];
    }),
  );
}

/** Matches declaration files, which have no code. */
function isDeclaration(target: string): boolean {
  return /\.d\.[cm]?ts$/.test(target);
}

function prefixLengthOf(pattern: string): number {
  return pattern.includes("*") ? pattern.indexOf("*") : Number.MAX_SAFE_INTEGER;
}

/** Returns the paths that `specifier` may have by `paths` and `baseUrl`. */
export function aliasesOf({ base, paths }: TsConfig, specifier: string): string[] {
  for (const [pattern, targets] of Object.entries(paths)) {
    const middle = matchPattern(pattern, specifier);
    if (middle !== null) return targets.map((target) => target.replace("*", () => middle));
  }
  return base === null ? [] : [joinPath(`${base}/`, specifier)];
}

function matchPattern(pattern: string, specifier: string): string | null {
  const star = pattern.indexOf("*");
  if (star < 0) return pattern === specifier ? "" : null;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const fits =
    specifier.length >= head.length + tail.length &&
    specifier.startsWith(head) &&
    specifier.endsWith(tail);
  return fits ? specifier.slice(star, specifier.length - tail.length) : null;
}
