import { SOURCE_LIMITS } from "../limits.ts";
import { ancestors } from "../paths.ts";
import { listText } from "../text.ts";
import type { Tree } from "../tree.ts";
import type { UnpackedSource } from "./archive.ts";

/** Maximum number of links that one path is resolved through, as in Linux. */
const MAX_HOPS = 40;
/** Maximum number of links, including those in linked folders. Each one visits every file and every link. */
const MAX_LINKS = 1000;

const BOUNDS = `${MAX_LINKS} links, ${SOURCE_LIMITS.files} files including linked ones, or ${SOURCE_LIMITS.path_characters} characters of a path`;

/** `path` leads to `target`, a path without links. `outer`: targets of the linked folders that `path` goes through. */
type Passage = { path: string; target: string; outer: readonly string[] };

/** Adds the files that links lead to. Modules keep the path of the link's target, as Node resolves them. */
export function followLinks({ tree, warnings }: UnpackedSource): UnpackedSource {
  const followed = {
    ...{ ...tree, aliases: new Set<string>() },
    ...{ files: new Map(tree.files), others: new Set(tree.others) },
  };
  const names = [...tree.files.keys(), ...tree.others];
  const links = [...tree.links.keys()];
  const passages: Passage[] = links.slice(0, MAX_LINKS).flatMap((path) => passagesOf(tree, path));
  const direct = [...passages];
  const found = new Set<string>();
  const beyond = links.slice(MAX_LINKS);
  // The loop appends to `passages`. Links in linked folders come last, so that they use only what the others leave of
  // the limit.
  for (const passage of passages) {
    const aliases = aliasesOf(names, passage);
    const inner = innerPassages(direct, passage);
    if (aliases.length + inner.length > 0) found.add(passage.path);
    const isTooLong = passage.path.length > SOURCE_LIMITS.path_characters;
    if (isTooLong || !addAliases(followed, tree, aliases)) {
      beyond.push(passage.path);
      continue;
    }
    const room = MAX_LINKS - passages.length;
    passages.push(...inner.slice(0, room));
    if (beyond.length < MAX_LINKS) beyond.push(...inner.slice(room).map(({ path }) => path));
  }
  const broken = links.slice(0, MAX_LINKS).filter((link) => !found.has(link));
  const texts = [
    warningOf("that lead to no file of the source", broken),
    warningOf(`beyond ${BOUNDS}`, beyond),
  ];
  return { tree: followed, warnings: [...warnings, ...texts.flat()] };
}

/** @returns an empty list for links in a circle */
function passagesOf({ links }: Tree, path: string): Passage[] {
  const target = realPath(links, path);
  return target === null ? [] : [{ path, target, outer: [] }];
}

/** Returns the links inside a linked folder. Skips those that lead back to an outer folder, which would be endless. */
function innerPassages(direct: readonly Passage[], passage: Passage): Passage[] {
  const outer = [...passage.outer, passage.target];
  return direct.flatMap(({ path: link, target }) => {
    const rest = outer.includes(target) ? null : restBelow(passage.target, link);
    return rest === null ? [] : [{ path: passage.path + rest, target, outer }];
  });
}

/** @returns `false` when the source would have too many files, or too long paths */
function addAliases(followed: Tree, tree: Tree, found: Alias[]): boolean {
  const { files, others, aliases } = followed;
  if (files.size + others.size + found.length > SOURCE_LIMITS.files) return false;
  if (found.some(({ alias }) => alias.length > SOURCE_LIMITS.path_characters)) return false;
  for (const { alias, name } of found) {
    aliases.add(alias);
    const bytes = tree.files.get(name);
    if (bytes === undefined) others.add(alias);
    else files.set(alias, bytes);
  }
  return true;
}

function warningOf(reason: string, links: string[]): string[] {
  return links.length === 0 ? [] : [`Left out links ${reason}: ${listText(links, 20)}`];
}

/** `alias` is a path through a link, `name` the path of the same file without links. */
type Alias = { alias: string; name: string };

/** Returns the aliases that a link adds for its target, a file or a folder. */
function aliasesOf(names: readonly string[], { path, target }: Passage): Alias[] {
  return names.flatMap((name) => {
    const rest = restBelow(target, name);
    return rest === null ? [] : [{ alias: path + rest, name }];
  });
}

/** @returns "" for the same path, "/b" for `path` "a/b" in `folder` "a", and `null` outside */
function restBelow(folder: string, path: string): string | null {
  if (folder === "") return `/${path}`;
  if (!path.startsWith(folder)) return null;
  const rest = path.slice(folder.length);
  return rest === "" || rest.startsWith("/") ? rest : null;
}

/** @returns `null` for links in a circle */
function realPath(links: Tree["links"], link: string): string | null {
  let path = link;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const prefix = [...ancestors(path)].findLast((each) => links.has(each));
    const target = links.get(prefix ?? "");
    if (prefix === undefined || target === undefined) return path;
    const rest = path.slice(prefix.length);
    path = target === "" ? rest.slice(1) : target + rest;
  }
  return null;
}
