import { isFourDigitYear } from "../../../shared/times.ts";
import { firstLine } from "../../../shared/trim.ts";
import { COMMIT_CHARACTERS, type SourceCommit } from "../contract.ts";
import { SOURCE_LIMITS } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";
import {
  addLink,
  countFile,
  emptyTree,
  isInside,
  isReadable,
  safePath,
  type Tree,
  tooLarge,
} from "../tree.ts";
import { DamagedPack, type GitObject, type GitObjects, hexOf } from "./git-pack.ts";

const OID_BYTES = 20;
const LINK = "120000";
const MAX_TAGS = 8;

/** Reads the files of a commit, or of the commit that a tag names. */
export function readTree(objects: GitObjects, oid: string): Tree {
  const tree = emptyTree();
  const commit_oid = commitOf(objects, oid);
  const commit = objectOf(objects, commit_oid, "commit");
  tree.commit = describeCommit(commit_oid, commit);
  walk(objects, tree, fieldOf(commit, "tree"));
  return tree;
}

type TreeEntry = { mode: string; name: string; oid: string };
type Folder = { oid: string; path: string; depth: number };

/**
 * A tree may be an entry of many trees: every visit counts, not every tree, because ten levels of ten entries
 * that name the same tree are 10^10 visits.
 */
function walk(objects: GitObjects, tree: Tree, root: string): void {
  const waiting: Folder[] = [{ oid: root, path: "", depth: 0 }];
  let visits = 0;
  for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
    const entries = [...entriesOf(objectOf(objects, folder.oid, "tree").data)];
    visits += entries.length;
    assertLimits(visits, folder.depth);
    for (const entry of entries) visit(objects, tree, folder, entry, waiting);
  }
}

function assertLimits(visits: number, depth: number): void {
  if (visits > SOURCE_LIMITS.objects) {
    throw tooLarge(`The source has more than ${SOURCE_LIMITS.objects} files and folders.`);
  }
  if (depth > SOURCE_LIMITS.depth) {
    throw tooLarge(`The source has folders more than ${SOURCE_LIMITS.depth} levels deep.`);
  }
}

function visit(
  objects: GitObjects,
  tree: Tree,
  folder: Folder,
  { mode, name, oid }: TreeEntry,
  waiting: Folder[],
): void {
  const path = safePath(`${folder.path}${name}`);
  if (path === null) return;
  if (mode === "40000") waiting.push({ oid, path: `${path}/`, depth: folder.depth + 1 });
  // Submodules (160000) are left out.
  if (mode !== LINK && !mode.startsWith("100")) return;
  const { data } = objectOf(objects, oid, "blob");
  if (mode === LINK) addBlobLink(tree, path, data);
  else addBlob(tree, path, data);
}

function addBlob(tree: Tree, path: string, data: Uint8Array): void {
  countFile(tree, { name: path, size: data.byteLength, type: "file" });
  if (isReadable(path, data.byteLength)) tree.files.set(path, data);
  else tree.others.add(path);
}

function addBlobLink(tree: Tree, path: string, data: Uint8Array): void {
  const target = new TextDecoder().decode(data.subarray(0, SOURCE_LIMITS.path_characters));
  const folder = directoryOf(path);
  // Keeps the text of a target outside of the repository, which leads to no file.
  addLink(tree, path, isInside(folder, target) ? joinPath(folder, target) : target);
}

function* entriesOf(data: Uint8Array): Generator<TreeEntry> {
  const decoder = new TextDecoder();
  for (let at = 0; at < data.byteLength; ) {
    const end = data.indexOf(0, at);
    if (end < 0 || end + OID_BYTES >= data.byteLength) throw new DamagedPack("a tree is cut off");
    const text = decoder.decode(data.subarray(at, end));
    const space = text.indexOf(" ");
    at = end + 1 + OID_BYTES;
    const oid = hexOf(data.subarray(end + 1, at));
    yield { mode: text.slice(0, space), name: text.slice(space + 1), oid };
  }
}

function commitOf(objects: GitObjects, oid: string): string {
  let at = oid;
  for (let tags = 0; tags <= MAX_TAGS; tags++) {
    const object = objects.get(at);
    if (object?.type !== "tag") return at;
    at = fieldOf(object, "object");
  }
  throw new DamagedPack(`it has more than ${MAX_TAGS} tags of tags`);
}

function objectOf(objects: GitObjects, oid: string, type: GitObject["type"]): GitObject {
  const object = objects.get(oid);
  if (object?.type !== type) throw new DamagedPack(`it lacks the ${type} ${oid}`);
  return object;
}

/** Bytes of a commit that are decoded: enough for headers with a signature and the first line of the message. */
const COMMIT_BYTES = 16 * 1024;

function describeCommit(repo_commit_sha: string, { data }: GitObject): SourceCommit {
  const text = new TextDecoder().decode(data.subarray(0, COMMIT_BYTES));
  const end = text.indexOf("\n\n");
  const head = end < 0 ? text : text.slice(0, end);
  const author = head.split("\n").find((line) => line.startsWith("author "));
  // Ends with seconds since 1970 and a zone.
  const seconds = Number(author?.split(" ").at(-2) ?? Number.NaN);
  return {
    repo_commit_sha,
    repo_commit_message: end < 0 ? null : firstLine(text.slice(end), COMMIT_CHARACTERS),
    repo_commit_authored_at: isTime(seconds) ? new Date(seconds * 1000).toISOString() : null,
  };
}

function isTime(seconds: number): boolean {
  return Number.isInteger(seconds) && isFourDigitYear(seconds * 1_000_000);
}

/** Reads a field with an object id from the first line of a commit or a tag. */
function fieldOf({ data }: GitObject, name: string): string {
  const line = new TextDecoder().decode(data.subarray(0, name.length + 1 + 2 * OID_BYTES));
  if (!line.startsWith(`${name} `)) throw new DamagedPack(`an object lacks its ${name}`);
  return line.slice(name.length + 1);
}
