import type { Caller } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { assertPaidPlan } from "../../../shared/plans.ts";
import { uploadPrefix } from "../sources.ts";

/** Limits and checks of uploaded tarballs. Pure. */

/** Validity of an upload URL, which is a credential for one PUT. */
export const UPLOAD_SECONDS = 3600;
/** Limit of a tarball, the same as `SOURCE_LIMITS.compressed_bytes` of builds. */
const MAX_UPLOAD_BYTES = 64 * 1024 * 1024;
/** Limit of all bytes of a workspace's uploads that no revision uses. */
export const MAX_UNUSED_BYTES = 1024 ** 3;
/** Age at which an upload that no revision uses is deleted. */
export const UNUSED_MS = 24 * 3_600_000;

/** @throws AppError 403 on the Developer plan, which does not include uploads */
export function assertUploadPlan(caller: Pick<Caller, "plan">): void {
  assertPaidPlan(caller, "Deployment from an upload");
}

export type SourceUpload = {
  workspace_id: string;
  deployment_id: string;
  upload_id: string;
  /** Epoch seconds. */
  expires: number;
};

export function objectPath({ workspace_id, deployment_id, upload_id }: SourceUpload): string {
  return `${uploadPrefix({ id: deployment_id, workspace_id })}${upload_id}.tar.gz`;
}

/** Returns the text that the signature of an upload URL covers. */
export function signedText(upload: SourceUpload): string {
  return `PUT ${objectPath(upload)} ${upload.expires}`;
}

export function assertNotExpired({ expires }: SourceUpload, now: Date): void {
  if (now.getTime() < expires * 1000) return;
  const text = `This upload_url has expired after ${UPLOAD_SECONDS} seconds: create another one.`;
  throw new AppError("forbidden", text);
}

/** @returns the size of the body from `Content-Length` */
export function parseSize(header: string | null): number {
  if (header === null || !/^\d{1,15}$/.test(header)) {
    throw new AppError("bad_request", "Content-Length is required.");
  }
  if (Number(header) <= MAX_UPLOAD_BYTES) return Number(header);
  const text = `The tarball has ${header} bytes; the limit is ${MAX_UPLOAD_BYTES}: exclude large files with .gitignore or .dockerignore.`;
  throw new AppError("too_large", text);
}
