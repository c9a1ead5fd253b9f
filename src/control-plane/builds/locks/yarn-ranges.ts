import { parseResolution } from "@yarnpkg/parsers";
import { maxSatisfying } from "semver";
import { unresolved } from "../failure.ts";
import type { Edge } from "./layout.ts";
import { parseLock, record, text, texts } from "./lock-text.ts";

type Entry = Record<string, unknown>;

export const LOCAL = /^(file|link|portal):/;
const CATALOG = "catalog:";

/** Replaces `catalog:` and `catalog:name` by the range in .yarnrc.yml. `read` returns the text of a file. */
export function catalogRanges(path: string, read: (path: string) => string | null) {
  let settings: Record<string, unknown> | undefined;
  return (edge: Edge): Edge => {
    if (!edge.range.startsWith(CATALOG)) return edge;
    settings ??= parseLock(path, read(path) ?? "");
    const catalog = edge.range.slice(CATALOG.length);
    const ranges = record(catalog === "" ? settings.catalog : record(settings.catalogs)[catalog]);
    const range = text(ranges[edge.name]);
    if (range !== undefined) return { ...edge, range };
    const key = catalog === "" ? "catalog" : `catalogs.${catalog}`;
    throw unresolved(
      `package.json requires ${edge.name} ${edge.range}, which "${key}" of ${path} does not have. Add it, run yarn install and commit both files.`,
    );
  };
}

type Parent = { name: string | undefined; reference?: string };
export type Replace = (edge: Edge, parent: Parent) => Edge;

/** Applies `resolutions` of yarn 2 and newer: its lockfile lists dependencies with the ranges before replacement. */
export function resolvedRanges(root: string, resolutions: unknown): Replace {
  const rules = Object.entries(texts(resolutions)).flatMap(([selector, reference]) => {
    // A folder is relative to the package.json beside the lockfile.
    const range = reference.replace(LOCAL, (protocol) => `${protocol}${root}/`);
    return parseSelector(selector).map((pattern) => ({ ...pattern, range }));
  });
  return (edge, parent) => {
    const rule = rules.find(
      ({ from, descriptor }) =>
        isMatch(descriptor, edge.name, edge.range) &&
        (from === undefined || isMatch(from, parent.name, parent.reference)),
    );
    return rule ? { ...edge, range: rule.range } : edge;
  };
}

type Pattern = { fullName: string; description?: string };

/** @returns an empty list for a selector that yarn does not read either */
function parseSelector(selector: string) {
  try {
    return [parseResolution(selector)];
  } catch {
    return [];
  }
}

function isMatch({ fullName, description }: Pattern, name = "", range = ""): boolean {
  return fullName === name && (!description || withProtocol(description) === withProtocol(range));
}

function withProtocol(range: string): string {
  return /^[a-z]+:/.test(range) ? range : `npm:${range}`;
}

/** Returns a function that finds the entry of a range. A key of the lockfile lists all ranges of its entry. */
export function entryFinder(lock: Entry, resolutions: Record<string, string> = {}) {
  const entries = new Map<string, Entry>();
  const byName = new Map<string, Set<Entry>>();
  for (const [keys, value] of Object.entries(lock)) {
    for (const key of keys.split(/,\s*/)) {
      const entry = record(value);
      entries.set(key, entry);
      const name = key.slice(0, key.indexOf("@", 1));
      byName.set(name, (byName.get(name) ?? new Set()).add(entry));
    }
  }
  const byRange = (name: string, range: string | undefined) =>
    entries.get(`${name}@${range}`) ?? entries.get(`${name}@npm:${range}`);
  return ({ name, range, is_peer }: Edge): Entry | null => {
    const replaced = resolutions[name] ?? resolutions[`**/${name}`];
    const entry = byRange(name, range) ?? byRange(name, replaced);
    if (entry) return entry;
    const named = [...(byName.get(name) ?? [])];
    if (is_peer) return newestOf(named, range);
    return replaced === undefined ? null : onlyOf(named);
  };
}

function onlyOf([only, ...others]: Entry[]): Entry | null {
  return others.length === 0 ? (only ?? null) : null;
}

/** Bounds the work for a lockfile with thousands of versions of one package. */
const MAX_VERSIONS = 50;

/** Returns the newest entry in a peer's range. Keys of a lockfile do not have the ranges of peers. */
function newestOf(entries: Entry[], range: string): Entry | null {
  const versionOf = (entry: Entry) => text(entry.version) ?? "";
  const versions = entries.slice(0, MAX_VERSIONS).map(versionOf);
  const newest = maxSatisfying(versions, range, { includePrerelease: true });
  return entries.find((entry) => versionOf(entry) === newest) ?? null;
}
