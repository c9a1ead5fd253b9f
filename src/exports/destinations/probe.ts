import type { EgressPolicy } from "../../shared/egress/egress.ts";
import { AppError } from "../../shared/errors.ts";
import { stylesToTry } from "../s3/addresses.ts";
import { type S3Client, type S3Options, s3Client } from "../s3/client.ts";
import { S3Error, type S3Problem } from "../s3/problem.ts";
import type { S3Target } from "../s3/signing.ts";
import { explain } from "./advice.ts";

export type UsableDestination = {
  addressing_style: "virtual" | "path";
  /** Set when the probe object could not be deleted. */
  warning: string | null;
};

/** Limits for each addressing style that is tried. The request of the caller waits for the probe. */
const LIMITS = { attempts: 3, total_ms: 12_000, attempt_ms: 8_000, max_delay_ms: 1000 };
const TEXT = "Heddle wrote this object to check the destination. It can be deleted.\n";
export const PROBE_BODY = new TextEncoder().encode(TEXT);
/** Codes that a wrong addressing style may cause too. */
const VAGUE = new Set([
  "BadRequest",
  "InvalidBucketName",
  "MethodNotAllowed",
  "NoSuchBucket",
  "NotFound",
  "PermanentRedirect",
  "UnexpectedAnswer",
]);

/**
 * Writes and deletes one object.
 * @throws AppError `bad_destination` with a remedy when it cannot be written
 */
export async function probe(
  policy: EgressPolicy,
  target: S3Target,
  key: string,
): Promise<UsableDestination> {
  const { client, addressing_style, problem } = await writeProbe(policy, target, key, LIMITS);
  if (client === null) throw new AppError("bad_destination", explain(problem, target, key));
  return { addressing_style, warning: await deleteProbe(client, target, key) };
}

type WrittenProbe =
  | { client: S3Client; addressing_style: UsableDestination["addressing_style"]; problem: null }
  | { client: null; addressing_style: null; problem: S3Problem };

/** Writes one object. Tries the addressing styles of `stylesToTry` until one works. */
export async function writeProbe(
  policy: EgressPolicy,
  target: S3Target,
  key: string,
  limits: S3Options["limits"],
): Promise<WrittenProbe> {
  const problems: S3Problem[] = [];
  for (const addressing_style of stylesToTry(target)) {
    const client = s3Client({ ...target, addressing_style }, { policy, ...(limits && { limits }) });
    const problem = await problemOf(() => client.putObject(key, PROBE_BODY));
    if (problem === null) return { client, addressing_style, problem };
    problems.push(problem);
  }
  return { client: null, addressing_style: null, problem: mostSpecific(problems) };
}

/** Returns the most specific problem. Of equally specific problems, returns the first. */
export function mostSpecific(problems: readonly S3Problem[]): S3Problem {
  const [first, ...others] = problems;
  if (first === undefined) throw new AppError("internal", "A probe tried no addressing style.");
  return others.reduce((best, next) => (weight(next) > weight(best) ? next : best), first);
}

function weight({ code, status }: S3Problem): number {
  if (status === 0) return 0;
  return VAGUE.has(code) ? 1 : 2;
}

async function deleteProbe(
  client: S3Client,
  { bucket_name }: S3Target,
  key: string,
): Promise<string | null> {
  const problem = await problemOf(() => client.deleteObject(key));
  if (problem === null) return null;
  return `The probe object ${key} was not deleted from the bucket ${bucket_name}: ${problem.code}`;
}

export async function problemOf(run: () => Promise<unknown>): Promise<S3Problem | null> {
  try {
    await run();
    return null;
  } catch (error) {
    if (error instanceof S3Error) return error.problem;
    throw error;
  }
}
