// `npm run restore -- --from s3://bucket/prefix`: restores a backup into HEDDLE_DIR, which must be empty.
//
// The environment is that of `npm run backup`. `--at 2026-11-21T03:00:00Z` takes the newest backup that is not later, instead
// of the newest. `--endpoint` is the address of a server other than AWS. A backup that was made without secrets.env needs
// `--secrets`, the path of a copy of that file.

import { paint } from "../local/processes/terminal.ts";
import { openBucket } from "./backup/bucket.ts";
import { createCodec, readKey } from "./backup/codec.ts";
import { readLocation } from "./backup/location.ts";
import { explain } from "./backup/problem.ts";
import { restore } from "./backup/restore.ts";
import { megabytes } from "./backup/run.ts";
import { readOptions } from "./options.ts";

const { values } = readOptions({
  from: { type: "string" },
  endpoint: { type: "string" },
  at: { type: "string" },
  secrets: { type: "string" },
});

try {
  await run();
} catch (error) {
  console.error(paint("red", explain(error)));
  process.exit(1);
}

async function run(): Promise<void> {
  const bucket = openBucket(readLocation("--from", values.from, values.endpoint, process.env));
  const codec = createCodec(readKey(process.env));
  const dir = process.env.HEDDLE_DIR ?? ".heddle";
  const { at, secrets } = values;
  const restored = await restore({ dir, bucket, codec, at, secrets, print: console.log });
  const { taken_at, files, bytes, region } = restored;
  console.log(`Restored the backup of ${taken_at} to ${dir}: ${files} files, ${megabytes(bytes)}`);
  if (region !== null) console.log(`Start it with HEDDLE_REGION=${region}.`);
  console.log("Start it only when the service that it was taken from has ended for good.");
}
