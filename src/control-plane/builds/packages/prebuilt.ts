import { findPackage, type Install } from "./lockfile.ts";

/** LangGraph and its siblings, bundled when Heddle was built. */
export type Runtime = {
  packages: Record<string, string>;
  /** Import specifier to file. */
  entries: Record<string, string>;
  files: Record<string, { text: string; imports: string[] }>;
};

/** Where the artifact keeps prebuilt modules, beside the main one. */
export const RUNTIME_FOLDER = "rt/";

/**
 * Paths of the installed packages that the prebuilt modules stand for: all of those the lockfile has,
 * each in the very version, seeing each other as npm placed them; otherwise none.
 */
export function providedPaths(
  packages: Runtime["packages"],
  install: Install,
  directory: string,
): Set<string> {
  const paths = new Map<string, string>();
  for (const name of Object.keys(packages)) {
    const path = findPackage(install, directory, name);
    if (path !== null) paths.set(name, path);
  }
  const isAsPrebuilt = [...paths].every(
    ([name, path]) =>
      install.packages.get(path)?.version === packages[name] &&
      [...paths].every(([other, expected]) => findPackage(install, path, other) === expected),
  );
  return new Set(isAsPrebuilt ? paths.values() : []);
}

/** Modules that these entries need, and all that those import. */
export function closure(runtime: Runtime, entries: Iterable<string>): Record<string, string> {
  const modules: Record<string, string> = {};
  const waiting = [...entries];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const file = runtime.files[name];
    if (file === undefined || RUNTIME_FOLDER + name in modules) continue;
    modules[RUNTIME_FOLDER + name] = file.text;
    waiting.push(...file.imports);
  }
  return modules;
}
