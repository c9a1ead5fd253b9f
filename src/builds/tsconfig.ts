import { isRecord } from "./config-values.ts";
import { parseJsonc } from "./json.ts";
import { directoryOf, joinPath } from "./paths.ts";

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
const MAX_EXTENDS = 8;

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
  const parsed = text === null ? null : parseJsonc(text);
  return parsed?.ok && isRecord(parsed.value) ? parsed.value : null;
}

function parentOf(path: string, parent: unknown): string | null {
  return typeof parent === "string" && parent.startsWith(".")
    ? joinPath(directoryOf(path), parent)
    : null;
}

function toPaths(paths: Record<string, unknown>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(paths).map(([pattern, targets]) => [
      pattern,
      Array.isArray(targets) ? targets.filter((target) => typeof target === "string") : [],
    ]),
  );
}

/** Paths that `specifier` may mean by `paths` and `baseUrl`, the longest pattern first. */
export function aliasesOf({ base, paths }: TsConfig, specifier: string): string[] {
  if (base === null) return [];
  const patterns = Object.keys(paths).sort((a, b) => b.indexOf("*") - a.indexOf("*"));
  for (const pattern of patterns) {
    const middle = matchPattern(pattern, specifier);
    if (middle === null) continue;
    return (paths[pattern] ?? []).map((target) => joinPath(base, target.replace("*", middle)));
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
