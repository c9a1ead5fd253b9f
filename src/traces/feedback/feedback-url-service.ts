import { z } from "@hono/zod-openapi";
import { jobContext } from "../../shared/context.ts";
import { INVALID_CLAIM, openClaim, signClaim } from "../../shared/crypto/claims.ts";
import { AppError } from "../../shared/errors.ts";
import { baseUrl } from "../../shared/http/base-url.ts";
import { FeedbackCreateRequest, type FeedbackInput } from "./feedback-schema.ts";
import { createFeedback } from "./feedback-service.ts";
import { type FeedbackGrant, findFeedbackGrant } from "./feedback-token-service.ts";

/** Lifetime of a feedback URL. */
const FEEDBACK_URL_HOURS = 24;
const PURPOSE = "feedback-url";

const Claim = z.object({ workspace_id: z.string(), run_id: z.string(), key: z.string() });

/** Creates a URL that accepts feedback with one key for one run from any holder. */
export async function createFeedbackUrl(
  env: Env,
  origin: string,
  claim: z.infer<typeof Claim>,
): Promise<string> {
  const token = await signClaim(env, PURPOSE, claim, FEEDBACK_URL_HOURS);
  return `${baseUrl(env, origin)}/api/v1/feedback/tokens/${token}`;
}

/** Stores feedback with the token as authorization. Later feedback with the same token replaces it. */
export async function submitFeedback(
  env: Env,
  token: string,
  input: FeedbackInput,
): Promise<{ message: string }> {
  const isLinkToken = z.guid().safeParse(token).success;
  const grant = isLinkToken ? await findFeedbackGrant(env, token) : await signedGrant(env, token);
  const { workspace_id, run_id, key, feedback_id: id } = grant;
  const ctx = jobContext(env, workspace_id, "feedback");
  await createFeedback(ctx, FeedbackCreateRequest.parse({ ...input, id, run_id, key }));
  return { message: "Thank you." };
}

async function signedGrant(env: Env, token: string): Promise<FeedbackGrant> {
  const claim = await openClaim(env, PURPOSE, token, Claim);
  if (claim === "invalid") throw new AppError("forbidden", INVALID_CLAIM);
  if (claim !== "expired") return { ...claim, feedback_id: feedbackIdOf(token) };
  const text = `The URL has expired: it is valid for ${FEEDBACK_URL_HOURS} hours.`;
  throw new AppError("forbidden", text);
}

/** Derives a UUID of version 8 from the signature, so that each URL stores one row. Its variant bits are arbitrary. */
function feedbackIdOf(token: string): string {
  const [, , signature = ""] = token.split(".");
  return signature.slice(0, 32).replace(/^(.{8})(.{4}).(.{3})(.{4})(.{12})$/, "$1-$2-8$3-$4-$5");
}
