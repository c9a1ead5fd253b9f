import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, PageQuery, Timestamp, textField } from "../../shared/schema.ts";
import { MAX_FEEDBACK_KEY_CHARS } from "../limits.ts";

const MAX_TOKENS = 100;
const MAX_DAYS = 365;
const DAY_MS = 86_400_000;
const Count = z
  .number()
  .int()
  .min(0)
  .max(MAX_DAYS * 1440)
  .default(0);

const Expiry = namedObject("FeedbackTokenExpiry", {
  days: Count.describe("Days"),
  hours: Count.describe("Hours"),
  minutes: Count.describe("Minutes"),
});

const DEFAULT_EXPIRY = { days: 0, hours: 3, minutes: 0 };

export const FeedbackTokenRequest = z
  .object({
    run_id: AnyUuid.describe("Id of the run, which may arrive later"),
    feedback_key: z
      .string()
      .min(1)
      .max(MAX_FEEDBACK_KEY_CHARS)
      .openapi({ description: "Name of what is rated", example: "helpfulness" }),
    expires_in: Expiry.nullish().describe("Time until it expires. Default: 3 hours"),
    expires_at: z.iso
      .datetime({ offset: true, local: true })
      .nullish()
      .describe("Time at which it expires, instead of `expires_in`"),
    id: AnyUuid.nullish().describe("Id of the feedback. Default: a new id"),
    feedback_config: z.unknown().optional().describe("Accepted, without effect"),
  })
  .refine(isInRange, {
    path: ["expires_in"],
    error: `the token must expire in the future, and in at most ${MAX_DAYS} days`,
  })
  .openapi("FeedbackTokenCreate");
export type FeedbackTokenRequest = z.infer<typeof FeedbackTokenRequest>;

export const FeedbackTokenRequests = z.union([
  FeedbackTokenRequest,
  z.array(FeedbackTokenRequest).min(1).max(MAX_TOKENS),
]);

export const FeedbackToken = namedObject("FeedbackToken", {
  id: textField(
    "Token: anyone who has it can give this feedback",
    "5f0c4c1e-9d1b-4a53-8f0e-6a2b8d9c7e11",
  ),
  url: textField(
    "URL that accepts the feedback by GET and POST",
    "https://heddle.example/api/v1/feedback/tokens/5f0c4c1e-9d1b-4a53-8f0e-6a2b8d9c7e11",
  ),
  expires_at: Timestamp.describe("Time at which it expires"),
});
export type FeedbackToken = z.infer<typeof FeedbackToken>;

export const FeedbackTokensQuery = PageQuery.extend({ run_id: AnyUuid.describe("Id of the run") });
export type FeedbackTokensQuery = z.infer<typeof FeedbackTokensQuery>;

type Expiring = {
  expires_at?: string | null | undefined;
  expires_in?: z.infer<typeof Expiry> | null | undefined;
};

/** Returns the time at which the token expires, in milliseconds since 1970. */
export function expiryOf({ expires_at, expires_in }: Expiring, now = Date.now()): number {
  return expires_at ? toTime(expires_at) : now + toMs(expires_in ?? DEFAULT_EXPIRY);
}

function isInRange(request: Expiring): boolean {
  const now = Date.now();
  const left_ms = expiryOf(request, now) - now;
  return left_ms > 0 && left_ms <= MAX_DAYS * DAY_MS;
}

/** A time without an offset is UTC. */
function toTime(text: string): number {
  return Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`);
}

function toMs({ days, hours, minutes }: { days: number; hours: number; minutes: number }): number {
  return ((days * 24 + hours) * 60 + minutes) * 60_000;
}
