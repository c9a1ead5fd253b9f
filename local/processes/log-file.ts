import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

/**
 * A log. Lines that cannot be written, as on a full disk, are lost, and the next line is preceded by their number.
 * Lines after the close are ignored.
 */
export type LogFile = { write(line: string): void; close(): void };

const MAX_BYTES = 32 * 1024 * 1024;

/** Opens a log that keeps the newest lines: a full file replaces the one with the suffix `.1`. */
export function openLog(path: string, max_bytes = MAX_BYTES): LogFile {
  let file = openSync(path, "a", 0o600);
  let bytes = fstatSync(file).size;
  let lost = 0;
  let isClosed = false;
  const startNext = () => {
    // Absent where an earlier attempt could not open the next file.
    if (existsSync(path)) renameSync(path, `${path}.1`);
    const next = openSync(path, "a", 0o600);
    closeSync(file);
    [file, bytes] = [next, 0];
  };
  return {
    write(line) {
      if (isClosed) return;
      try {
        if (bytes > max_bytes) startNext();
        if (lost > 0)
          bytes += writeSync(file, `${lost} lines are missing: ${path} was not writable.\n`);
        lost = 0;
        bytes += writeSync(file, `${line}\n`);
      } catch {
        lost += 1;
      }
    },
    close() {
      if (!isClosed) closeSync(file);
      isClosed = true;
    },
  };
}
