// Takes the files of one moment while the service runs. Files without a change for a second are sent in advance. Then
// the process that writes is stopped, the files that have changed since are copied beside the data, and it continues.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { workerPidOf } from "../../local/processes/kill.ts";
import { type Chunks, inParallel } from "./chunks.ts";
import { copyUntil } from "./copy.ts";
import { whileStopped } from "./freeze.ts";
import type { FileEntry } from "./manifest.ts";
import { MomentError } from "./problem.ts";
import {
  differences,
  isGone,
  readStamp,
  type Scan,
  type ScannedFile,
  STAGING,
  scan,
} from "./scan.ts";

export type Snapshot = {
  taken_at: string;
  /** Time for which the service was stopped; 0 when it did not run. */
  paused_ms: number;
  folders: string[];
  files: FileEntry[];
};

export type SnapshotOptions = {
  dir: string;
  isRunning: boolean;
  left_out: readonly string[];
  max_pause_ms: number;
  print(line: string): void;
};

type KnownFiles = Map<string, { stamp: string; chunks: string[] }>;
type Copies = { taken_at: string; scanned: Scan; copies: Map<string, string> };

/**
 * Age of the last change from which a file is sent: a write at the same tick of the clock would not change its stamp.
 */
const REST_MS = 1000;
const ADVANCE_ROUNDS = 3;
/** A round that sends fewer bytes is the last: to copy so little in the pause costs less. */
const SMALL_BYTES = 8 * 1024 ** 2;
const ATTEMPTS = 4;

/** `known`: files that an earlier backup has. Files that are sent in advance are added to it. */
export async function takeSnapshot(
  options: SnapshotOptions,
  chunks: Chunks,
  known: KnownFiles,
): Promise<Snapshot> {
  const staging = join(options.dir, STAGING);
  try {
    const { paused_ms, ...copied } = await copyOneMoment(options, chunks, known, staging);
    return { paused_ms, ...(await sendCopies(copied, chunks, known)) };
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function copyOneMoment(
  options: SnapshotOptions,
  chunks: Chunks,
  known: KnownFiles,
  staging: string,
): Promise<Copies & { paused_ms: number }> {
  for (let attempt = 1; ; attempt += 1) {
    await sendInAdvance(options, chunks, known);
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { mode: 0o700 });
    try {
      return await copyChanged(options, known, staging);
    } catch (error) {
      if (!(error instanceof MomentError) || attempt === ATTEMPTS) throw error;
      options.print(`  ${error.message} Trying again.`);
    }
  }
}

/** Each round has less to send: what changed during the one before. */
async function sendInAdvance(options: SnapshotOptions, chunks: Chunks, known: KnownFiles) {
  for (let round = 1; round <= ADVANCE_ROUNDS; round += 1) {
    if ((await sendResting(options, chunks, known)) < SMALL_BYTES) return;
  }
}

/** Sends files without a change for `REST_MS`. Returns the sum of their sizes in bytes. */
async function sendResting(
  { dir, left_out }: SnapshotOptions,
  chunks: Chunks,
  known: KnownFiles,
): Promise<number> {
  const due = [...scan(dir, left_out).files.values()].filter((file) => isChanged(file, known));
  let bytes = 0;
  await inParallel(due, async ({ path }) => {
    const before = readStamp(dir, path);
    if (before === null || before.changed_ms > Date.now() - REST_MS) return;
    const hashes = await chunks.sendFile(join(dir, path)).catch(ignoreDeleted);
    if (hashes === null || readStamp(dir, path)?.stamp !== before.stamp) return;
    known.set(path, { stamp: before.stamp, chunks: hashes });
    bytes += before.size;
  });
  return bytes;
}

function isChanged({ path, stamp }: ScannedFile, known: KnownFiles): boolean {
  return known.get(path)?.stamp !== stamp;
}

function ignoreDeleted(error: unknown): null {
  if (isGone(error)) return null;
  throw error;
}

async function copyChanged(
  options: SnapshotOptions,
  known: KnownFiles,
  staging: string,
): Promise<Copies & { paused_ms: number }> {
  const { dir, isRunning, max_pause_ms } = options;
  if (!isRunning) {
    const copies = copyAll(Number.POSITIVE_INFINITY, options, known, staging);
    return { ...copies, paused_ms: 0 };
  }
  const copy = () => copyAll(performance.now() + max_pause_ms, options, known, staging);
  const [copies, paused_ms] = await whileStopped(await workerPidOf(dir), copy);
  return { ...copies, paused_ms };
}

/** @throws MomentError after the deadline, or when a file changed */
function copyAll(
  deadline: number,
  { dir, left_out, max_pause_ms }: SnapshotOptions,
  known: KnownFiles,
  staging: string,
): Copies {
  const taken_at = new Date().toISOString();
  const copies = new Map<string, string>();
  const scanned = scan(dir, left_out, deadline);
  const changed = [...scanned.files.values()].filter((file) => isChanged(file, known));
  for (const { path } of changed) {
    const file = join(staging, String(copies.size));
    let isCopied: boolean;
    try {
      isCopied = copyUntil(deadline, join(dir, path), file);
    } catch (error) {
      throw isGone(error) ? new MomentError(`${path} was deleted during the pause.`) : error;
    }
    if (!isCopied) throw tooMuch(changed, max_pause_ms);
    copies.set(path, file);
  }
  // Only the stopped process writes below state/.
  const others = scan(dir, [...left_out, "state"], deadline);
  const [other] = differences(scanned, others).filter((path) => !path.startsWith("state/"));
  if (other === undefined) return { taken_at, scanned, copies };
  throw new MomentError(
    `${other} changed while the service was stopped: another program writes it.`,
  );
}

function tooMuch(changed: ScannedFile[], max_pause_ms: number): MomentError {
  const mb = (changed.reduce((sum, { size }) => sum + size, 0) / 1e6).toFixed(0);
  return new MomentError(
    `${changed.length} changed files with ${mb} MB could not be copied in ${max_pause_ms} ms. Use a file system with reflinks (XFS, Btrfs), a quieter time or a longer --max-pause.`,
  );
}

async function sendCopies(
  { taken_at, scanned, copies }: Copies,
  chunks: Chunks,
  known: KnownFiles,
) {
  const files: FileEntry[] = [];
  await inParallel(scanned.files.values(), async ({ path, size, mode, stamp }) => {
    const copy = copies.get(path);
    const hashes =
      copy === undefined ? (known.get(path)?.chunks ?? []) : await chunks.sendFile(copy);
    files.push({ path, size, mode, stamp, chunks: hashes });
  });
  return { taken_at, folders: scanned.folders, files };
}
