import { closeSync, constants, copyFileSync, openSync, readSync, writeSync } from "node:fs";
import { isGone } from "./scan.ts";

const PIECE_BYTES = 4 * 1024 ** 2;

/**
 * Copies a file to a new one until `deadline`, a time of `performance.now()`.
 * @returns `false` when the deadline passed first
 */
export function copyUntil(deadline: number, from: string, to: string): boolean {
  return (performance.now() <= deadline && reflink(from, to)) || copyPieces(deadline, from, to);
}

/** @returns `false` when the file cannot be copied so, as on file systems without reflinks */
function reflink(from: string, to: string): boolean {
  try {
    copyFileSync(from, to, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (isGone(error)) throw error;
    return false;
  }
}

/** Looks at the time before each piece: one file may be most of the data. @returns `false` after the deadline */
export function copyPieces(deadline: number, from: string, to: string): boolean {
  const source = openSync(from, "r");
  try {
    const target = openSync(to, "w", 0o600);
    try {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (;;) {
        if (performance.now() > deadline) return false;
        const length = readSync(source, piece);
        if (length === 0) return true;
        writeWhole(target, piece.subarray(0, length));
      }
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

function writeWhole(target: number, bytes: Buffer): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(target, bytes, done);
}
