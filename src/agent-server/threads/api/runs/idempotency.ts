import { z } from "@hono/zod-openapi";
import { v7 } from "uuid";
import type { Context } from "../../../../shared/context.ts";
import { sha256Hex } from "../../../../shared/crypto/crypto.ts";
import { decodeBytes } from "../../../../shared/crypto/encoding.ts";
import type { RunTarget } from "../../contract/records.ts";
import type { RunCreate } from "../../contract/requests/run-schema.ts";

const MAX_KEY_CHARACTERS = 255;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum difference between the clocks of two machines. */
const CLOCK_SKEW_MS = 60_000;

export const KeyHeaders = z.object({
  "idempotency-key": z
    .string()
    .min(1)
    .max(MAX_KEY_CHARACTERS)
    .optional()
    .describe(
      "Idempotency key: repeated requests with the same key and body create one run, for a day",
    ),
});

/** An entity tag, or an id without quotes. */
const RUN_TAG = /^"?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"?$/i;

/** Headers of a request that creates a run on a thread. */
export const RunHeaders = KeyHeaders.extend({
  "if-match": z
    .string()
    .regex(RUN_TAG, "must be the id of a run")
    .transform((tag) => RUN_TAG.exec(tag)?.[1]?.toLowerCase() ?? "")
    .optional()
    .openapi({ type: "string" })
    .describe(
      "Id of the newest run of the thread that the client knows. The new run is refused with 409 unless that run is still the newest: an answer then never resumes an interrupt that the client has not read",
    ),
});

/** `run_ids`: ids that the run of a request with a key may have, of the UTC day, the day before, and the next one. */
export type KeyedRun = { run_ids: [string, string, string]; request_sha256: string };

/**
 * Derives the run's id from the key and the UTC day, so that the run's thread detects a repetition. Callers look for
 * the id of the day before as well, so a key is valid for one to two days, and for that of the next day: a request that
 * has waited past midnight may come after its repetition.
 * @returns `null` for a request without a key
 */
export function toKeyedRun(ctx: Context, target: RunTarget, input: RunCreate): KeyedRun | null {
  const { idempotency_key: key, deployment_id, thread_id } = target;
  if (key === undefined) return null;
  const { workspace_id } = ctx.caller;
  const user = ctx.access?.user?.identity ?? null;
  const digest = sha256Hex(JSON.stringify([workspace_id, deployment_id, thread_id, user, key]));
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  return {
    run_ids: [toId(digest, today), toId(digest, today - DAY_MS), toId(digest, today + DAY_MS)],
    request_sha256: sha256Hex(JSON.stringify(input)),
  };
}

/** Returns whether the day of a run's id has begun by the clock of a machine that took the repetition. */
export function mayHaveBegun(run_id: string): boolean {
  const msecs = Number.parseInt(run_id.replace("-", "").slice(0, 12), 16);
  return msecs <= Date.now() + CLOCK_SKEW_MS;
}

function toId(digest: string, msecs: number): string {
  const random = decodeBytes(digest, "hex").slice(0, 16);
  // Without `seq`, v7 takes fewer random bits. A change of this line changes the ids of keys that are in use.
  const seq = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  return v7({ msecs, random, seq });
}
