import type { ParsedTarEntry } from "modern-tar";
import type { SourceCommit } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { inflateGzip } from "../inflate.ts";
import { SOURCE_LIMITS } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";
import { tarEntries } from "../tar.ts";
import { bytesText } from "../text.ts";
import {
  addLink,
  assertSafeLink,
  countFile,
  emptyTree,
  isReadable,
  safePath,
  sharedFolder,
  type Tree,
  tooLarge,
  withoutFolder,
} from "../tree.ts";

export type UnpackedSource = { tree: Tree; warnings: string[] };

/**
 * Unpacks a .tar.gz while it arrives. Keeps only the paths of files that a bundle cannot hold. Removes a top folder
 * that contains all files, unless `anchor` is the path of a file in the archive: then paths are relative to the
 * archive.
 */
export async function unpackSource(
  stream: ReadableStream<Uint8Array>,
  anchor: string | null,
): Promise<UnpackedSource> {
  const tree = emptyTree();
  const notes = { installed: 0 };
  const { archive_bytes } = SOURCE_LIMITS;
  const bytes = inflateGzip(stream, archive_bytes, () =>
    tooLarge(`The archive has more than ${bytesText(archive_bytes)} unpacked.`),
  );
  for await (const entry of tarEntries(bytes, { strict: true }, tooLarge)) {
    // `git archive` writes the id of the commit into a pax header.
    tree.commit ??= toCommit(entry.header.pax?.comment);
    await addEntry(tree, entry, notes);
  }
  if (tree.files.size + tree.others.size === 0) {
    throw new BuildFailure("source_not_found", "The source has no files.");
  }
  const warnings = toWarnings(notes);
  const folder = sharedFolder(tree);
  if (folder === null || (anchor !== null && tree.files.has(anchor))) return { tree, warnings };
  // Some git hosts name the folder by the repository and the id of the commit.
  tree.commit ??= toCommit(folder.split("-").at(-1));
  return { tree: withoutFolder(tree), warnings };
}

const INSTALLED = /(^|\/)(node_modules|\.git)\//;

/** `installed`: files in node_modules and .git, which are left out. */
type Notes = { installed: number };

async function addEntry(tree: Tree, entry: ParsedTarEntry, notes: Notes): Promise<void> {
  const { name, size, type = "file" } = entry.header;
  const path = safePath(name);
  if (type === "symlink" || type === "link") {
    addEntryLink(tree, path, entry.header);
    return entry.body.cancel();
  }
  if (path === null || type !== "file") return entry.body.cancel();
  if (INSTALLED.test(path)) {
    notes.installed += 1;
    return entry.body.cancel();
  }
  countFile(tree, { name: path, size, type });
  if (isReadable(path, size)) {
    tree.files.set(path, await new Response(entry.body).bytes());
    return;
  }
  tree.others.add(path);
  return entry.body.cancel();
}

function addEntryLink(tree: Tree, path: string | null, header: ParsedTarEntry["header"]): void {
  const { name, size, type = "file", linkname = "" } = header;
  if (path !== null && INSTALLED.test(path)) return;
  assertSafeLink({ name, size, type, linkname });
  if (path === null) return;
  // The target of a hard link is relative to the archive, that of a symbolic link to the folder of the link.
  const base = type === "symlink" ? directoryOf(path) : "";
  addLink(tree, path, joinPath(base, linkname));
}

function toCommit(text: string | undefined): SourceCommit | null {
  if (text === undefined || !/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(text)) return null;
  return { repo_commit_sha: text, repo_commit_message: null, repo_commit_authored_at: null };
}

function toWarnings({ installed }: Notes): string[] {
  if (installed === 0) return [];
  return [`Left out ${installed} files in node_modules and .git; packages come from the lockfile.`];
}
