import type { S3Problem } from "../s3/problem.ts";
import type { S3Target } from "../s3/signing.ts";

type Place = { bucket: string; host: string; key: string; arguments: string };

/** By S3's code: what it means for a destination, and what to change. */
const ADVICE: Record<string, (place: Place) => string> = {
  AccessDenied: ({ bucket, key }) =>
    `Access denied: these keys may not write ${key} to the bucket "${bucket}". Allow them s3:PutObject there, and make sure that bucket_name and prefix are the ones they are for`,
  NoSuchBucket: ({ bucket, host }) =>
    `Bucket is not valid: there is none named "${bucket}" at ${host}. Create it there, or correct bucket_name, region or endpoint_url`,
  InvalidBucketName: ({ bucket, host }) =>
    `Bucket is not valid: ${host} takes no bucket named "${bucket}". Correct bucket_name; endpoint_url must not name the bucket too`,
  InvalidAccessKeyId: ({ host }) =>
    `The Key ID you provided does not exist at ${host}. Correct access_key_id, or create a new key where this one was deleted`,
  SignatureDoesNotMatch: () =>
    "The secret does not belong to the key. Correct secret_access_key; keys of a session need their session_token too",
  InvalidToken: () => "Correct session_token, or leave it out for the keys of a user",
  ExpiredToken: () => "The session of these keys is over. Give the keys of a new one",
  UserSuspended: () => "Have the user of these keys admitted again, or give another's keys",
  QuotaExceeded: () => "Make room in the bucket, or have its quota raised",
  RequestTimeTooSkewed: ({ host }) =>
    `The clock of ${host} is not the clock of Heddle. Set the server's clock right`,
  KMS: () =>
    "The bucket encrypts with a key that these keys may not use. Allow them kms:GenerateDataKey and kms:Decrypt on it, and make sure that bucket_name is the bucket you mean",
  ARGUMENTS: (place) =>
    `The server takes no such request. ${place.arguments === "" ? "Look for rules of the bucket that a plain PUT breaks" : `Change or remove what config.s3_additional_kwargs adds: ${place.arguments}`}`,
  REGION: ({ bucket }) =>
    `The bucket "${bucket}" is somewhere else. Correct region, and endpoint_url if there is one`,
  ENDPOINT: ({ host }) =>
    `Invalid endpoint: ${host} does not answer as an S3 server does. Correct endpoint_url`,
  REFUSED: () =>
    "Invalid endpoint: Heddle does not connect to it. Give one that is public and begins with https://",
  LATER: ({ host }) => `${host} is busy or out of order. Try again later`,
};

const SAME: Record<string, string> = {
  AuthorizationHeaderMalformed: "REGION",
  AllAccessDisabled: "AccessDenied",
  AccountProblem: "AccessDenied",
  BadGateway: "ENDPOINT",
  BadRequest: "ENDPOINT",
  ConnectionFailed: "ENDPOINT",
  GatewayTimeout: "ENDPOINT",
  IllegalLocationConstraintException: "REGION",
  InvalidArgument: "ARGUMENTS",
  InvalidEncryptionAlgorithmError: "ARGUMENTS",
  InvalidRequest: "ARGUMENTS",
  InvalidStorageClass: "ARGUMENTS",
  InvalidTag: "ARGUMENTS",
  MethodNotAllowed: "ENDPOINT",
  MissingContentLength: "ENDPOINT",
  NotFound: "NoSuchBucket",
  NotImplemented: "ARGUMENTS",
  PermanentRedirect: "REGION",
  Refused: "REFUSED",
  TemporaryRedirect: "REGION",
  TokenRefreshRequired: "ExpiredToken",
  UnexpectedAnswer: "ENDPOINT",
};

/** The detail of the answer: S3's own words, then what to change. */
export function explain(problem: S3Problem, target: S3Target, key: string): string {
  const { bucket_name, put_headers } = target;
  const endpoint = target.endpoint_url ?? "https://s3.amazonaws.com";
  const advice = adviceFor(problem)({
    bucket: bucket_name,
    host: new URL(endpoint).host,
    key,
    arguments: Object.keys(put_headers).join(", "),
  });
  const words = problem.message.replace(/[\s.]+$/, "");
  return `Failed to validate S3 destination: ${problem.code}: ${words}. ${advice}.`;
}

function adviceFor({ code, message, is_transient }: S3Problem) {
  const known = message.includes("kms:") ? "KMS" : (SAME[code] ?? code);
  const advice = Object.hasOwn(ADVICE, known) ? ADVICE[known] : undefined;
  if (advice !== undefined) return advice;
  if (is_transient) return ADVICE.LATER ?? other;
  return other;
}

function other({ host }: Place): string {
  return `Change what ${host} complains about, and send the destination again`;
}
