import { z } from "zod";
import { INVALID_CLAIM, openClaim, signClaim } from "../../shared/crypto/claims.ts";
import { AppError } from "../../shared/errors.ts";
import { baseUrl } from "../../shared/http/base-url.ts";

const PURPOSE = "attachment-url";
/** Lifetime of a URL in hours: clients download right after they read the run. */
const HOURS = 1;

const AttachmentRef = z.object({ workspace_id: z.string(), run_id: z.string(), name: z.string() });
export type AttachmentRef = z.infer<typeof AttachmentRef>;

/** Returns a URL that needs no API key. Without a public origin, it is a path at the origin that the client calls. */
export async function attachmentUrl(env: Env, ref: AttachmentRef): Promise<string> {
  return `${baseUrl(env, "")}/api/v1/attachments/${await signClaim(env, PURPOSE, ref, HOURS)}`;
}

export async function openAttachmentUrl(env: Env, token: string): Promise<AttachmentRef> {
  const ref = await openClaim(env, PURPOSE, token, AttachmentRef);
  if (ref === "invalid") throw new AppError("forbidden", INVALID_CLAIM);
  if (ref !== "expired") return ref;
  throw new AppError("forbidden", `The URL has expired after ${HOURS} hour: read the run again.`);
}
