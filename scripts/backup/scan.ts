// The files of a data folder that a backup holds.
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { MomentError } from "./problem.ts";

export type ScannedFile = {
  path: string;
  size: number;
  mode: number;
  stamp: string;
  changed_ms: number;
};
export type Scan = { folders: string[]; files: Map<string, ScannedFile> };

export const STAGING = "backup";
export const KEY_FILES = ["secrets.env", "kept.json"];
/**
 * Paths that a start creates again, or that belong to running processes. SQLite rebuilds `-shm`, the index of its log,
 * after a crash.
 */
const LEFT_OUT = new RegExp(
  [
    "^(bundle|run|backup)$",
    "^(backup|stack)\\.pid$",
    "^worker\\.log(\\.1)?$",
    "^(local|root|worker|workers)\\.json$",
    // Drafts of a write that did not end.
    "^[^/]+\\.(json|env)\\.\\d+$",
    "^s3/\\.drafts$",
    "^state/v3/cache$",
    "^git/.*\\.lock$",
    "\\.sqlite-shm$",
  ].join("|"),
);

const LATE =
  "The files could not be listed during the longest pause. Choose a quieter time or a longer --max-pause.";

/** @throws MomentError after the deadline */
export function scan(
  dir: string,
  left_out: readonly string[],
  deadline = Number.POSITIVE_INFINITY,
): Scan {
  const found: Scan = { folders: [], files: new Map() };
  const isWanted = (path: string) => !left_out.includes(path) && !LEFT_OUT.test(path);
  const due = [""];
  for (let folder = due.pop(); folder !== undefined; folder = due.pop()) {
    const entries = readFolder(join(dir, folder));
    const pathOf = ({ name }: { name: string }) => (folder === "" ? name : `${folder}/${name}`);
    const folders = entries.filter((entry) => entry.isDirectory()).map(pathOf);
    for (const path of folders.filter(isWanted)) {
      found.folders.push(path);
      due.push(path);
    }
    const files = entries.filter((entry) => entry.isFile()).map(pathOf);
    addFiles(found, dir, files.filter(isWanted), deadline);
  }
  return found;
}

/** A folder that was deleted since it was listed is empty: git and uploads continue during a backup. */
function readFolder(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

export function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function addFiles(found: Scan, dir: string, paths: string[], deadline: number): void {
  for (const path of paths) {
    if (performance.now() > deadline) throw new MomentError(LATE);
    const file = readStamp(dir, path);
    if (file !== null) found.files.set(path, file);
  }
}

/** @returns `null` when the file was deleted, or is not a file */
export function readStamp(dir: string, path: string): ScannedFile | null {
  const stat = lstatSync(`${dir}/${path}`, { throwIfNoEntry: false });
  if (!stat?.isFile()) return null;
  const { size, ctimeMs: changed_ms, ino } = stat;
  return { path, size, mode: stat.mode & 0o777, stamp: `${ino}-${changed_ms}-${size}`, changed_ms };
}

/** Returns paths whose files differ between two scans. */
export function differences(a: Scan, b: Scan): string[] {
  const paths = new Set([...a.files.keys(), ...b.files.keys()]);
  return [...paths].filter((path) => a.files.get(path)?.stamp !== b.files.get(path)?.stamp);
}
