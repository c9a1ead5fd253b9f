// Lists the files of a backup and their chunks. A backup exists from the moment its manifest is in the bucket.
import { z } from "zod";
import type { Bucket } from "./bucket.ts";
import type { Codec } from "./codec.ts";
import { BackupError } from "./problem.ts";

/** A relative path. No part of it is empty, `.` or `..`, so a restore writes only below its folder. */
const Path = z.string().regex(/^(?!\.{0,2}(\/|$))(?!.*\/\.{0,2}(\/|$))[^\0]+$/s);

const Manifest = z.object({
  format: z.literal(1),
  /**
   * Id of the first workspace, which identifies the installation. A prefix of the bucket holds backups of one
   * installation only.
   */
  installation: z.string(),
  region: z.string().nullable(),
  taken_at: z.iso.datetime(),
  /** Whether secrets.env and kept.json are included. */
  has_keys: z.boolean(),
  folders: z.array(Path),
  files: z.array(
    z.object({
      path: Path,
      size: z.int().nonnegative(),
      mode: z.int().nonnegative(),
      /** Inode, time of change and size: an equal stamp means equal content, on the same machine. */
      stamp: z.string(),
      chunks: z.array(z.string().regex(/^[0-9a-f]{64}$/)),
    }),
  ),
});
export type Manifest = z.infer<typeof Manifest>;
export type FileEntry = Manifest["files"][number];

/** Entry of the list of backups, which follows from the name of a manifest. */
export type BackupListing = { name: string; taken_at: string; isEncrypted: boolean };

const MANIFESTS = "backups/";
const MANIFEST_NAME = /^backups\/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\.json\.gz(\.enc)?$/;

/** Lists backups, the oldest first. */
export async function listBackups(bucket: Bucket): Promise<BackupListing[]> {
  return (await bucket.list(MANIFESTS)).flatMap((name) => {
    const [, taken_at, suffix] = MANIFEST_NAME.exec(name) ?? [];
    return taken_at === undefined ? [] : [{ name, taken_at, isEncrypted: suffix !== undefined }];
  });
}

export async function writeManifest(bucket: Bucket, codec: Codec, manifest: Manifest) {
  const name = `${MANIFESTS}${manifest.taken_at}.json.gz${codec.isEncrypted ? ".enc" : ""}`;
  await bucket.put(name, await codec.seal(Buffer.from(JSON.stringify(manifest))));
}

export async function readManifest(
  bucket: Bucket,
  codec: Codec,
  { name, isEncrypted }: BackupListing,
): Promise<Manifest> {
  if (isEncrypted !== codec.isEncrypted) {
    const remedy = isEncrypted
      ? "is encrypted: set BACKUP_KEY to its key"
      : "is not encrypted: unset BACKUP_KEY";
    throw new BackupError(`${name} ${remedy}.`);
  }
  const sealed = await bucket.get(name);
  if (sealed === null) throw new BackupError(`${name} was deleted while it was read. Try again.`);
  const text = await codec.open(sealed).catch(() => {
    throw new BackupError(
      `${name} cannot be read: it is damaged, or BACKUP_KEY is not the key it was written with.`,
    );
  });
  const parsed = Manifest.safeParse(JSON.parse(Buffer.from(text).toString()));
  if (parsed.success) return parsed.data;
  throw new BackupError(`${name} was written by a version of Heddle that this one cannot read.`);
}
