import { isS3Error, S3Error } from "../../src/exports/s3/problem.ts";

/** A failure with its remedy, for the operator. */
export class BackupError extends Error {}

/** The files of one moment could not be copied. The backup tries again at another moment. */
export class MomentError extends BackupError {}

const KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const REMEDIES: [string[], string][] = [
  [["NoSuchBucket"], "Create the bucket or correct its name."],
  [
    ["AccessDenied"],
    "The key needs s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject.",
  ],
  [["InvalidAccessKeyId", "SignatureDoesNotMatch"], `Correct ${KEYS}.`],
  [["ConnectionFailed", "Refused"], "Correct --endpoint or AWS_ENDPOINT_URL."],
  [["QuotaExceeded", "EntityTooLarge"], "Free space in the bucket: --keep deletes old backups."],
];

/** Describes an error that the operator can repair. Throws any other one, with its stack. */
export function explain(error: unknown): string {
  if (error instanceof BackupError) return error.message;
  if (error instanceof S3Error) {
    const remedy = REMEDIES.find(([codes]) => isS3Error(error, codes))?.[1] ?? "";
    return `${error.message.replace(/\.?$/, ".")} ${remedy}`.trim();
  }
  const { code, path = "the disk" } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC") return `${path}: no space left. Free space on its file system.`;
  if (code === "EACCES" || code === "EPERM") {
    return `${path}: permission denied. Run the command as the user of the service.`;
  }
  if (code === undefined && (error as Error).constructor === Error) return (error as Error).message;
  throw error;
}
