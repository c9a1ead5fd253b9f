import { isRecord } from "../../../shared/guards.ts";
import { isShallow } from "../../../shared/http/depth.ts";
import { parseJsonc } from "../config/json.ts";
import { JSON_BYTES } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";

/** What a bundle takes from tsconfig.json. */
export type TsConfig = {
  /** For esbuild: jsx and decorators. */
  compilerOptions: Record<string, unknown>;
  /** Where `paths` and bare names are looked up; null without either. */
  base: string | null;
  paths: Record<string, string[]>;
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
/** Also ends a chain of files that extend each other. */
const MAX_EXTENDS = 8;
const MAX_PATHS = 500;
const MAX_TARGETS = 16;

/** `read` gives the text of a file of the source, or null. */
export function readTsConfig(folder: string, read: (path: string) => string | null): TsConfig {
  const chain = chainOf(joinPath(folder, "tsconfig.json"), read);
  const merged: TsConfig = { compilerOptions: {}, base: null, paths: {} };
  for (const { path, options } of chain.reverse()) {
    for (const key of FOR_ESBUILD) {
      if (key in options) merged.compilerOptions[key] = options[key];
    }
    if (typeof options.baseUrl === "string")
      merged.base = joinPath(directoryOf(path), options.baseUrl);
    if (isRecord(options.paths)) {
      merged.base ??= directoryOf(path);
      merged.paths = toPaths(options.paths);
    }
  }
  return merged;
}

type Link = { path: string; options: Record<string, unknown> };

/** The file itself first, then what it extends. */
function chainOf(first: string, read: (path: string) => string | null): Link[] {
  const chain: Link[] = [];
  for (let path: string | null = first; path !== null && chain.length < MAX_EXTENDS; ) {
    const file = parseFile(read(path) ?? read(`${path}.json`));
    if (file === null) break;
    chain.push({ path, options: isRecord(file.compilerOptions) ? file.compilerOptions : {} });
    path = parentOf(path, file.extends);
  }
  return chain;
}

function parseFile(text: string | null): Record<string, unknown> | null {
  if (text === null || text.length > JSON_BYTES.tsconfig) return null;
  const value = parseJsonc(text);
  return isRecord(value) && isShallow(value) ? value : null;
}

function parentOf(path: string, parent: unknown): string | null {
  return typeof parent === "string" && parent.startsWith(".")
    ? joinPath(directoryOf(path), parent)
    : null;
}

/** The longest pattern comes first. */
function toPaths(paths: Record<string, unknown>): Record<string, string[]> {
  const patterns = Object.keys(paths).sort((a, b) => b.indexOf("*") - a.indexOf("*"));
  return Object.fromEntries(
    patterns.slice(0, MAX_PATHS).map((pattern) => {
      const targets = paths[pattern];
      const texts = Array.isArray(targets) ? targets.slice(0, MAX_TARGETS) : [];
      return [pattern, texts.filter((target) => typeof target === "string")];
    }),
  );
}

/** Returns the paths that `specifier` may have by `paths` and `baseUrl`. */
export function aliasesOf({ base, paths }: TsConfig, specifier: string): string[] {
  if (base === null) return [];
  for (const [pattern, targets] of Object.entries(paths)) {
    const middle = matchPattern(pattern, specifier);
    if (middle === null) continue;
    return targets.map((target) =>
      joinPath(
        base,
        target.replace("*", () => middle),
      ),
    );
  }
  return [joinPath(base, specifier)];
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
