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
  const files = new Map(tree.files);
  const others = new Set(tree.others);
  const isOmitted = (link: string): boolean => {
    const aliases = aliasesOf(tree, link);
    const count = files.size + others.size + aliases.length;
    if (count > SOURCE_LIMITS.files) return true;
    for (const { alias, name } of aliases) {
      const bytes = tree.files.get(name);
      if (bytes === undefined) others.add(alias);
      else files.set(alias, bytes);
    }
    return aliases.length === 0;
  };
  const links = [...tree.links.keys()];
  const omitted = [...links.slice(0, MAX_LINKS).filter(isOmitted), ...links.slice(MAX_LINKS)];
  const followed = { ...tree, files, others };
  if (omitted.length === 0) return { tree: followed, warnings };
  const text = `Left out links that lead to no file of the source: ${listText(omitted, 20)}`;
  return { tree: followed, warnings: [...warnings, text] };
}

/** Paths that the file or the folder behind a link has through it. */
function aliasesOf(tree: Tree, link: string): { alias: string; name: string }[] {
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
