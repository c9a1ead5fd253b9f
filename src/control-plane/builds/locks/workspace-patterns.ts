import { ancestors, joinPath } from "../paths.ts";
import type { Manifest } from "./install-tree.ts";
import { parseLock, record } from "./lock-text.ts";

export const PNPM_SETTINGS = "pnpm-workspace.yaml";
/** Limits of the work of matching. A pattern over `MAX_PATTERN` or `MAX_ANY_FOLDERS` matches nothing. */
const MAX_PATTERN = 256;
const MAX_BRACES = 2;
const MAX_ANY_FOLDERS = 2;
const ANY_FOLDERS = "**";

type Source = {
  manifest(folder: string): Manifest | null;
  read(path: string): string | null;
};

/** Returns `Workspaces.rootOf`. Caches the patterns of each folder. */
export function workspaceRoots(source: Source): (folder: string) => string | null {
  const known = new Map<string, string[] | null>();
  return (folder) =>
    rootOf(folder, (at) => {
      if (!known.has(at)) known.set(at, patternsIn(source, at));
      return known.get(at) ?? null;
    });
}

/**
 * Returns the root of the workspace that has `folder`, or the folder itself when it is a root, `null` without one.
 * Folders are absolute.
 */
function rootOf(folder: string, patternsOf: (at: string) => string[] | null): string | null {
  for (const at of ancestors(folder)) {
    const patterns = patternsOf(at);
    if (patterns === null) continue;
    if (at === folder || isMember(patterns, folder.slice(at.length + 1))) return at;
  }
  return null;
}

function patternsIn({ manifest, read }: Source, at: string): string[] | null {
  const path = joinPath(`/${at}`, PNPM_SETTINGS).slice(1);
  const settings = read(path);
  const { workspaces } = manifest(at) ?? {};
  if (settings === null && workspaces === undefined) return null;
  const listed = settings === null ? workspaces : parseLock(path, settings).packages;
  // In yarn 1, `workspaces` may be an object with `packages`.
  const patterns = Array.isArray(listed) ? listed : record(listed).packages;
  return [patterns].flat().filter((pattern) => typeof pattern === "string");
}

function isMember(patterns: string[], path: string): boolean {
  const isAny = (wanted: string[]) => wanted.some((pattern) => matches(pattern, path));
  const excluded = patterns.filter((each) => each.startsWith("!")).map((each) => each.slice(1));
  return isAny(patterns.filter((each) => !each.startsWith("!"))) && !isAny(excluded);
}

/** Matches a path against a pattern like `packages/*`, `apps/**` or `{apps,libs}/*`. */
function matches(pattern: string, path: string): boolean {
  const plain = pattern.replace(/^\.?\//, "").replace(/\/$/, "");
  if (plain.length > MAX_PATTERN) return false;
  const parts = path.split("/");
  return expanded(plain)
    .map((each) => each.split("/"))
    .filter((each) => each.filter((part) => part === ANY_FOLDERS).length <= MAX_ANY_FOLDERS)
    .some((each) => matchesParts(each, parts));
}

/** Expands `{a,b}/c` to `a/c` and `b/c`. Only the first `MAX_BRACES` pairs are expanded. */
function expanded(pattern: string): string[] {
  let patterns = [pattern];
  for (let n = 0; n < MAX_BRACES; n++) {
    patterns = patterns.flatMap((each) => {
      const [start, end] = [each.indexOf("{"), each.indexOf("}")];
      if (start < 0 || end < start) return [each];
      const choices = each.slice(start + 1, end).split(",");
      return choices.map((choice) => each.slice(0, start) + choice + each.slice(end + 1));
    });
  }
  return patterns;
}

/** Matches segment by segment. A double star matches any number of folders. */
function matchesParts(wanted: string[], parts: string[]): boolean {
  const star = wanted.indexOf(ANY_FOLDERS);
  if (star < 0) {
    return (
      wanted.length === parts.length && wanted.every((each, n) => isPart(each, parts[n] ?? ""))
    );
  }
  const [head, tail] = [wanted.slice(0, star), wanted.slice(star + 1)];
  if (!head.every((each, n) => isPart(each, parts[n] ?? ""))) return false;
  const rest = parts.slice(head.length);
  if (tail.length === 0) return true;
  return rest.some((_, n) => matchesParts(tail, rest.slice(n)));
}

/** Matches one segment against a pattern like `agent-*`. */
function isPart(pattern: string, name: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || name.length < first.length + last.length) return false;
  let from = first.length;
  for (const text of others) {
    const at = name.indexOf(text, from);
    if (at < 0) return false;
    from = at + text.length;
  }
  return name.endsWith(last) && from <= name.length - last.length;
}
