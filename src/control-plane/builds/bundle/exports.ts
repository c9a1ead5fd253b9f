import { isRecord } from "../../../shared/guards.ts";
import { SPECIFIER_CHARACTERS } from "../limits.ts";

/** The `exports` and `imports` maps of package.json, as Node resolves them. */

const CONDITIONS = {
  import: ["workerd", "worker", "import", "module", "default"],
  require: ["workerd", "worker", "require", "module", "default"],
  browser_import: ["browser", "import", "module", "default"],
  browser_require: ["browser", "require", "module", "default"],
  browser_style: ["style", "browser", "default"],
} as const;

export type ImportKind = keyof typeof CONDITIONS;

/** For packages that know no others: both are less far from an isolate than nothing. */
const LAST_RESORTS = ["browser", "node"];

/** The file for `subpath` (`.` or `./x`), or null when the map does not have it. */
export function resolveExports(map: unknown, subpath: string, kind: ImportKind): string | null {
  return choose(isSubpathMap(map) ? map : { ".": map }, subpath, kind);
}

/** The target of a `#name`: a file of the package (`./x`) or a bare specifier. */
export function resolveImports(map: unknown, name: string, kind: ImportKind): string | null {
  return isRecord(map) ? choose(map, name, kind) : null;
}

function choose(table: Record<string, unknown>, key: string, kind: ImportKind): string | null {
  const conditions = CONDITIONS[kind];
  const found = lookUp(table, key, conditions);
  if (found !== null || kind.startsWith("browser")) return found;
  return firstOf(LAST_RESORTS, (last) => lookUp(table, key, [...conditions, last]));
}

function isSubpathMap(map: unknown): map is Record<string, unknown> {
  return isRecord(map) && Object.keys(map).some((key) => key.startsWith("."));
}

function lookUp(
  table: Record<string, unknown>,
  key: string,
  conditions: readonly string[],
): string | null {
  if (key in table && !key.includes("*")) return toTarget(table[key], conditions, "");
  const patterns = Object.keys(table)
    .filter((pattern) => fits(pattern, key))
    .sort((a, b) => b.indexOf("*") - a.indexOf("*"));
  const best = patterns[0];
  if (best === undefined) return null;
  const star = best.indexOf("*");
  const middle = key.slice(star, key.length - (best.length - star - 1));
  return toTarget(table[best], conditions, middle);
}

function fits(pattern: string, key: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return false;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return key.length >= pattern.length && key.startsWith(head) && key.endsWith(tail);
}

function toTarget(value: unknown, conditions: readonly string[], middle: string): string | null {
  if (typeof value === "string") return withMiddle(value, middle);
  const within = (one: unknown) => toTarget(one, conditions, middle);
  if (Array.isArray(value)) return firstOf(value, within);
  if (!isRecord(value)) return null;
  const chosen = Object.keys(value).filter((condition) => conditions.includes(condition));
  return firstOf(chosen, (condition) => within(value[condition]));
}

/** A target may repeat its star, so that a short map makes a long path. */
function withMiddle(target: string, middle: string): string | null {
  const parts = target.split("*", SPECIFIER_CHARACTERS);
  const length = target.length + (parts.length - 1) * middle.length;
  return length > SPECIFIER_CHARACTERS ? null : parts.join(middle);
}

function firstOf<T>(values: T[], find: (value: T) => string | null): string | null {
  for (const value of values) {
    const target = find(value);
    if (target !== null) return target;
  }
  return null;
}
