// `npm run backup -- --to s3://bucket/prefix`: a backup of HEDDLE_DIR, also while the service runs. `--list` lists
// backups.
//
// The environment has AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION if the server needs it. BACKUP_KEY
// (32 bytes in base64) encrypts the backup. Without it, --without-keys is required, and the backup lacks the keys of
// the installation.

import { formatDuration, paint } from "../local/processes/terminal.ts";
import { openBucket } from "./backup/bucket.ts";
import { createCodec, readKey } from "./backup/codec.ts";
import { readLocation } from "./backup/location.ts";
import { listBackups } from "./backup/manifest.ts";
import { BackupError, explain } from "./backup/problem.ts";
import { backUp, megabytes } from "./backup/run.ts";
import { readOptions } from "./options.ts";

/** The stack's watchdog ends a process that is stopped for ten seconds. */
const LONGEST_PAUSE_MS = 8000;

const { values } = readOptions({
  to: { type: "string" },
  endpoint: { type: "string" },
  keep: { type: "string" },
  list: { type: "boolean" },
  "without-keys": { type: "boolean" },
  "max-pause": { type: "string", default: "2000" },
});

try {
  await run();
} catch (error) {
  console.error(paint("red", explain(error)));
  process.exit(1);
}

async function run(): Promise<void> {
  const bucket = openBucket(readLocation("--to", values.to, values.endpoint, process.env));
  if (values.list) return list(await listBackups(bucket));
  const keep = values.keep === undefined ? null : readNumber("--keep", values.keep, 10_000);
  const max_pause_ms = readNumber("--max-pause", values["max-pause"], LONGEST_PAUSE_MS);
  const codec = createCodec(readKey(process.env));
  if (codec.isEncrypted === (values["without-keys"] ?? false)) {
    throw new BackupError(
      "Set BACKUP_KEY to encrypt the backup with its keys, or give --without-keys to leave the keys out: not both.",
    );
  }
  const dir = process.env.HEDDLE_DIR ?? ".heddle";
  const made = await backUp({ dir, bucket, codec, max_pause_ms, keep, print: console.log });
  console.log(`Backup of ${made.taken_at}: ${made.files} files, ${megabytes(made.bytes)}`);
  console.log(`${megabytes(made.sent_bytes)} sent, paused for ${formatDuration(made.paused_ms)}`);
  const { deleted } = made;
  if (deleted === null) return;
  console.log(`Deleted ${deleted.backups} old backups and ${deleted.chunks} chunks`);
}

function list(backups: { taken_at: string; isEncrypted: boolean }[]): void {
  if (backups.length === 0) console.log("None.");
  for (const { taken_at, isEncrypted } of backups) {
    console.log(`${taken_at}  ${isEncrypted ? "encrypted" : "without keys"}`);
  }
}

function readNumber(option: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new BackupError(`${option} is "${text}"; give a whole number from 1 to ${max}.`);
}
