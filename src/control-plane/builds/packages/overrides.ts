import { intersects, satisfies, validRange } from "semver";
import { isRecord } from "../../../shared/guards.ts";
import { unresolved } from "../failure.ts";
import type { Manifest } from "../locks/install-tree.ts";
import { parseLock, record, texts } from "../locks/lock-text.ts";
import { PNPM_SETTINGS } from "../locks/workspace-patterns.ts";
import type { Workspaces } from "../locks/workspaces.ts";
import { joinPath } from "../paths.ts";
import { absolute, managerOf } from "./project.ts";

/** The overrides of package.json or pnpm-workspace.yaml. They apply where no lockfile fixes the versions. */
export type Overrides = {
  /** @returns the range to use, or `null` for a dependency that is removed */
  replace(dependency: Dependency): string | null;
  /**
   * The rules as written, and the ranges that their `$name` values refer to. Part of the key of a recorded resolution,
   * so that a change of them chooses versions again.
   */
  source: Record<string, unknown>;
};

/** `parents`: the packages from the project to the dependency, outermost first. */
type Dependency = { name: string; range: string; parents: Parent[] };
export type Parent = { name: string; version: string };

type Pattern = { name: string; range: string };
type Rule = {
  target: Pattern;
  parents: Pattern[];
  /** Whether the last parent must be the package that depends on the target. Otherwise it may be any ancestor. */
  is_direct: boolean;
  to: string;
};

const ANYWHERE = "**";

/** @param folder of the project, relative to the root of the source */
export function overridesOf(workspaces: Workspaces, folder: string): Overrides {
  // `rootOf` returns an absolute path.
  const root = workspaces.rootOf(absolute(folder))?.slice(1) ?? folder;
  const manifest = workspaces.manifest(absolute(root)) ?? {};
  const settings = workspaces.read(joinPath(root, PNPM_SETTINGS));
  const manager = managerOf(workspaces, root) ?? guessManager(manifest, settings);
  const { overrides, resolutions, pnpm } = manifest;
  switch (manager) {
    case "pnpm": {
      const own = settings === null ? {} : parseLock(joinPath(root, PNPM_SETTINGS), settings);
      const all = [resolutions, record(pnpm).overrides, own.overrides];
      return toOverrides(manifest, Object.assign({}, ...all.map(texts)), rulesOfPnpm);
    }
    case "yarn":
      return toOverrides(manifest, texts(resolutions), rulesOfYarn);
    case "bun":
      return toOverrides(manifest, { ...texts(resolutions), ...texts(overrides) }, rulesOfNpm);
    default:
      return toOverrides(manifest, record(overrides), rulesOfNpm);
  }
}

function guessManager({ overrides, resolutions, pnpm }: Manifest, settings: string | null) {
  if (pnpm !== undefined || settings !== null) return "pnpm";
  return resolutions !== undefined && overrides === undefined ? "yarn" : "npm";
}

function toOverrides<T extends Record<string, unknown>>(
  manifest: Manifest,
  source: T,
  read: (source: T) => Rule[],
): Overrides {
  const rules = read(source).toSorted((one, other) => other.parents.length - one.parents.length);
  const references = rules.filter(({ to }) => to.startsWith("$")).map(({ to }) => to.slice(1));
  const ranges = Object.fromEntries(references.map((name) => [name, rangeOf(manifest, name)]));
  return {
    source: references.length === 0 ? source : { ...source, $: ranges },
    replace(dependency) {
      const rule = rules.find((each) => isApplied(each, dependency));
      if (rule === undefined) return dependency.range;
      // `-` removes the dependency (pnpm).
      if (rule.to === "-") return null;
      return rule.to.startsWith("$") ? rangeOf(manifest, rule.to.slice(1)) : rule.to;
    },
  };
}

function rangeOf(manifest: Manifest, name: string): string {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest;
  const all = { ...peerDependencies, ...devDependencies, ...optionalDependencies, ...dependencies };
  const range = all[name];
  if (range !== undefined) return range;
  const text = `package.json overrides a package by "$${name}", which is none of its dependencies: add it, or name a version.`;
  throw unresolved(text);
}

/** Reads `{"a": "1", "b@2": {".": "2.1", "c": "$c"}}`. An inner rule applies at any depth below `b`. */
function rulesOfNpm(overrides: Record<string, unknown>, parents: Pattern[] = []): Rule[] {
  return Object.entries(overrides).flatMap(([key, value]) => {
    const target = toPattern(key);
    const own = isRecord(value) ? value["."] : value;
    const inner = isRecord(value) ? rulesOfNpm(value, [...parents, target]) : [];
    const isRule = key !== "." && typeof own === "string";
    return isRule ? [{ target, parents, is_direct: false, to: own }, ...inner] : inner;
  });
}

/** Reads `{"a": "1", "b@2>c": "-"}`. Rules for a range of versions come before rules for all versions. */
function rulesOfPnpm(overrides: Record<string, string>): Rule[] {
  const rules = Object.entries(overrides).map(([selector, to]) => {
    // Splits at the `>` between packages, not at that of a range like `a@>1`.
    const names = selector.split(/(?<=[^ |@])>/).map(toPattern);
    const target = names.pop() ?? toPattern(selector);
    return { target, parents: names, is_direct: true, to };
  });
  const isForAll = ({ target }: Rule) => (target.range === "" ? 1 : 0);
  return rules.toSorted((one, other) => isForAll(one) - isForAll(other));
}

// In yarn 1, `a/**/b` applies to `b` at any depth below `a`.
/** Reads `{"b": "1", "a/b": "2"}`, where `a/b` applies to a `b` that `a` depends on. */
function rulesOfYarn(resolutions: Record<string, string>): Rule[] {
  return Object.entries(resolutions).map(([selector, to]) => {
    const names = selector.match(/(?:@[^/]+\/)?[^/]+/g) ?? [];
    const target = toPattern(names.pop() ?? selector);
    const parents = names.filter((name) => name !== ANYWHERE).map(toPattern);
    return { target, parents, is_direct: names.at(-1) !== ANYWHERE, to };
  });
}

/** Splits a selector like `@scope/name@^1`. */
function toPattern(text: string): Pattern {
  const at = text.indexOf("@", 1);
  if (at < 0) return { name: text, range: "" };
  return { name: text.slice(0, at), range: text.slice(at + 1).replace(/^npm:/, "") };
}

function isApplied({ target, parents, is_direct }: Rule, dependency: Dependency): boolean {
  if (target.name !== dependency.name || !overlaps(target.range, dependency.range)) return false;
  const last = parents.at(-1);
  const direct = dependency.parents.at(-1);
  if (is_direct && last && !(direct && isVersion(last, direct))) return false;
  return isBelow(parents, dependency.parents);
}

/** @returns whether `above` has all of `parents`, in their order */
function isBelow(parents: Pattern[], above: Parent[]): boolean {
  let found = 0;
  for (const each of above) {
    const pattern = parents[found];
    if (pattern && isVersion(pattern, each)) found++;
  }
  return found === parents.length;
}

function isVersion({ name, range }: Pattern, parent: Parent): boolean {
  return name === parent.name && (range === "" || satisfies(parent.version, range));
}

/** Returns whether a rule's range applies to a dependency's range. An empty range applies to all. */
function overlaps(range: string, wanted: string): boolean {
  if (range === "" || range === wanted) return true;
  return validRange(range) !== null && validRange(wanted) !== null && intersects(range, wanted);
}
