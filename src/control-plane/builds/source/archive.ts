import type { ParsedTarEntry } from "modern-tar";
import type { SourceCommit } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { inflated } from "../inflate.ts";
import { SOURCE_LIMITS } from "../limits.ts";
import { directoryOf, joinPath } from "../paths.ts";
import { tarEntries } from "../tar.ts";
import { bytesText } from "../text.ts";
import {
  addLink,
  admit,
  assertSafeLink,
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
 * Unpacks a .tar.gz as it arrives; what a bundle cannot read is named and dropped. The one folder
 * that an archive may have around everything goes, unless `anchor` is a file that is found with it.
 */
export async function unpackSource(
  stream: ReadableStream<Uint8Array>,
  anchor: string | null,
): Promise<UnpackedSource> {
  const tree = emptyTree();
  const notes = { installed: 0 };
  const { archive_bytes } = SOURCE_LIMITS;
  const bytes = inflated(stream, archive_bytes, () =>
    tooLarge(`The archive has more than ${bytesText(archive_bytes)} unpacked.`),
  );
  for await (const entry of tarEntries(bytes, { strict: true }, tooLarge)) {
    tree.commit ??= toCommit(entry.header.pax?.comment);
    await take(tree, entry, notes);
  }
  if (tree.files.size + tree.others.size === 0) {
    throw new BuildFailure("source_not_found", "The source has no files.");
  }
  const warnings = toWarnings(notes);
  const folder = sharedFolder(tree);
  if (folder === null || (anchor !== null && tree.files.has(anchor))) return { tree, warnings };
  tree.commit ??= toCommit(folder.split("-").at(-1));
  return { tree: withoutFolder(tree), warnings };
}

const INSTALLED = /(^|\/)(node_modules|\.git)\//;

type Notes = { installed: number };

async function take(tree: Tree, entry: ParsedTarEntry, notes: Notes): Promise<void> {
  const { name, size, type = "file" } = entry.header;
  const path = safePath(name);
  if (type === "symlink" || type === "link") {
    takeLink(tree, path, entry.header);
    return entry.body.cancel();
  }
  if (path === null || type !== "file") return entry.body.cancel();
  if (INSTALLED.test(path)) {
    notes.installed += 1;
    return entry.body.cancel();
  }
  admit(tree, { name: path, size, type });
  if (isReadable(path, size)) {
    tree.files.set(path, await new Response(entry.body).bytes());
    return;
  }
  tree.others.add(path);
  return entry.body.cancel();
}

function takeLink(tree: Tree, path: string | null, header: ParsedTarEntry["header"]): void {
  const { name, size, type = "file", linkname = "" } = header;
  if (path !== null && INSTALLED.test(path)) return;
  assertSafeLink({ name, size, type, linkname });
  if (path === null) return;
  // A hard link has a path of the archive.
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
