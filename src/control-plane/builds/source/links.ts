import { SOURCE_LIMITS } from "../limits.ts";
import { ancestors } from "../paths.ts";
import { listText } from "../text.ts";
import type { Tree } from "../tree.ts";
import type { UnpackedSource } from "./archive.ts";

/** Links in links, as Linux limits them. */
const MAX_HOPS = 40;
/** Each link to a folder visits every file. */
const MAX_LINKS = 1000;

/** Adds the files that links lead to. Modules keep the path of the link's target, as Node resolves them. */
export function followLinks({ tree, warnings }: UnpackedSource): UnpackedSource {
  const followed = { ...tree, files: new Map(tree.files), others: new Set(tree.others) };
  const links = [...tree.links.keys()];
  const broken: string[] = [];
  const beyond = links.slice(MAX_LINKS);
  for (const link of links.slice(0, MAX_LINKS)) {
    const aliases = aliasesOf(tree, link);
    if (aliases.length === 0) broken.push(link);
    else if (!addAliases(followed, tree, aliases)) beyond.push(link);
  }
  const texts = [
    warningOf("that lead to no file of the source", broken),
    warningOf(`beyond ${MAX_LINKS} links or ${SOURCE_LIMITS.files} files with theirs`, beyond),
  ];
  return { tree: followed, warnings: [...warnings, ...texts.flat()] };
}

/** @returns `false` when the source would have too many files */
function addAliases({ files, others }: Tree, tree: Tree, aliases: Alias[]): boolean {
  if (files.size + others.size + aliases.length > SOURCE_LIMITS.files) return false;
  for (const { alias, name } of aliases) {
    const bytes = tree.files.get(name);
    if (bytes === undefined) others.add(alias);
    else files.set(alias, bytes);
  }
  return true;
}

function warningOf(reason: string, links: string[]): string[] {
  return links.length === 0 ? [] : [`Left out links ${reason}: ${listText(links, 20)}`];
}

/** `name`: the file's own path. */
type Alias = { alias: string; name: string };

/** Paths that the file or the folder behind a link has through it. */
function aliasesOf(tree: Tree, link: string): Alias[] {
  const target = realPath(tree.links, link);
  if (target === null) return [];
  if (target === "") return namesOf(tree).map((name) => ({ alias: `${link}/${name}`, name }));
  const names = namesOf(tree).filter((name) => `${name}/`.startsWith(`${target}/`));
  return names.map((name) => ({ alias: link + name.slice(target.length), name }));
}

function namesOf({ files, others }: Tree): string[] {
  return [...files.keys(), ...others];
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
