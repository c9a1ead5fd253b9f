import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

export type LogFile = { write(line: string): void; close(): void };

const MAX_BYTES = 32 * 1024 * 1024;

/** The newest lines of a service that runs for months: a full file becomes `.1`, in place of the one before. */
export function openLog(path: string, max_bytes = MAX_BYTES): LogFile {
  let file = openSync(path, "a", 0o600);
  let bytes = fstatSync(file).size;
  return {
    write(line) {
      if (bytes > max_bytes) {
        closeSync(file);
        renameSync(path, `${path}.1`);
        file = openSync(path, "a", 0o600);
        bytes = 0;
      }
      bytes += writeSync(file, `${line}\n`);
    },
    close: () => closeSync(file),
  };
}
