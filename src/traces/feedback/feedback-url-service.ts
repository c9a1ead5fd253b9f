import { z } from "@hono/zod-openapi";
import { jobContext } from "../../shared/context.ts";
import { decodeText, encodeText } from "../../shared/crypto/encoding.ts";
import { isSigned, sign } from "../../shared/crypto/signing.ts";
import { AppError } from "../../shared/errors.ts";
import { baseUrl } from "../../shared/http/base-url.ts";
import { FeedbackCreateRequest, type FeedbackInput } from "./feedback-schema.ts";
import { createFeedback } from "./feedback-service.ts";

/** Lifetime of a feedback URL. */
const FEEDBACK_URL_HOURS = 24;
const PURPOSE = "feedback-url";

/** Epoch seconds. */
const Claim = z.object({
  workspace_id: z.string(),
  run_id: z.string(),
  key: z.string(),
  expires: z.number(),
});
type About = Omit<z.infer<typeof Claim>, "expires">;

/** Returns a URL that accepts feedback with one key for one run from any holder. */
export async function feedbackUrl(env: Env, origin: string, about: About): Promise<string> {
  const expires = Math.floor(Date.now() / 1000) + FEEDBACK_URL_HOURS * 3600;
  const claim = encodeText(JSON.stringify({ ...about, expires }), "base64url");
  const { key_id, signature } = await sign(env, PURPOSE, claim);
  return `${baseUrl(env, origin)}/api/v1/feedback/tokens/${claim}.${key_id}.${signature}`;
}

/** Stores feedback with the signature as authorization. A second call replaces the first. */
export async function submitFeedback(
  env: Env,
  token: string,
  sent: FeedbackInput,
): Promise<{ message: string }> {
  const [claim = "", key_id = "", signature = ""] = token.split(".");
  if (!(await isSigned(env, PURPOSE, claim, { key_id, signature }))) {
    throw new AppError("forbidden", "Invalid signature: use the URL unchanged.");
  }
  const { workspace_id, run_id, key, expires } = Claim.parse(
    JSON.parse(decodeText(claim, "base64url")),
  );
  if (expires * 1000 < Date.now()) {
    const text = `The URL has expired: it is valid for ${FEEDBACK_URL_HOURS} hours.`;
    throw new AppError("forbidden", text);
  }
  const ctx = jobContext(env, workspace_id, "feedback");
  const id = idOf(signature);
  await createFeedback(ctx, FeedbackCreateRequest.parse({ ...sent, id, run_id, key }));
  return { message: "Thank you." };
}

/** Derives the feedback's id from the signature, so that each URL stores one row. */
function idOf(signature: string): string {
  return signature.slice(0, 32).replace(/^(.{8})(.{4}).(.{3})(.{4})(.{12})$/, "$1-$2-8$3-$4-$5");
}
