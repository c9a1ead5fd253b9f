import { isAws } from "../s3/addresses.ts";
import type { S3Problem } from "../s3/problem.ts";
import type { S3Target } from "../s3/signing.ts";

type AdviceContext = {
  bucket: string;
  host: string;
  key: string;
  arguments: string;
  isAws: boolean;
};

/** Remedies by error code of S3. Keys in capitals are not codes: `SAME_ADVICE` and `adviceFor` refer to them. */
const ADVICE: Record<string, (context: AdviceContext) => string> = {
  AccessDenied: ({ bucket, key }) =>
    `Access denied: the credentials must be allowed s3:PutObject for ${key} in the bucket "${bucket}". Check bucket_name and prefix`,
  NoSuchBucket: ({ bucket, host, isAws }) =>
    `Bucket is not valid: "${bucket}" does not exist at ${host}. Create it, or correct bucket_name${isAws ? " or region. Set endpoint_url for a server other than AWS" : ", region or endpoint_url"}`,
  InvalidBucketName: ({ bucket, host, isAws }) =>
    `Bucket is not valid: ${host} refused the name "${bucket}". Correct bucket_name${isAws ? "" : ", and do not repeat it in endpoint_url"}`,
  InvalidAccessKeyId: ({ host }) =>
    `The Key ID you provided does not exist at ${host}. Correct access_key_id, or create a new key if it was deleted`,
  SignatureDoesNotMatch: () =>
    "The secret does not match the key. Correct secret_access_key. Temporary keys need their session_token too",
  InvalidToken: () => "Correct session_token, or leave it out for keys without a session",
  ExpiredToken: () => "The session of these keys has expired. Use the keys of a new session",
  UserSuspended: () => "Enable the user of these keys, or use keys of another user",
  QuotaExceeded: () => "Delete objects from the bucket, or raise its quota",
  RequestTimeTooSkewed: ({ host }) => `The clock of ${host} is wrong. Set it`,
  KMS: () =>
    "The credentials must be allowed kms:GenerateDataKey and kms:Decrypt on the encryption key of the bucket. Check bucket_name",
  ARGUMENTS: (context) =>
    `The server refused the request. ${context.arguments === "" ? "Check the policies of the bucket" : `Change or remove these of config.s3_additional_kwargs: ${context.arguments}`}`,
  REGION: ({ bucket, isAws }) =>
    `The bucket "${bucket}" is in another region. Correct region${isAws ? "" : " and endpoint_url"}`,
  ENDPOINT: ({ host, isAws }) =>
    isAws
      ? `${host} does not respond. Retry later, or set endpoint_url for a server other than AWS`
      : `Invalid endpoint: ${host} does not respond like an S3 server. Correct endpoint_url`,
  REFUSED: () => "Invalid endpoint: use a public one that begins with https://",
  LATER: ({ host }) => `${host} is temporarily unavailable. Retry later`,
};

/** Codes that share the remedy of another key of ADVICE. */
const SAME_ADVICE: Record<string, string> = {
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

/** Returns the server's message and the remedy. */
export function explain(problem: S3Problem, target: S3Target, key: string): string {
  const words = problem.message.replace(/[\s.]+$/, "");
  const remedy = remedyFor(problem, target, key);
  return `Failed to validate S3 destination: ${problem.code}: ${words}. ${remedy}.`;
}

export function remedyFor(problem: S3Problem, target: S3Target, key: string): string {
  const { bucket_name, put_headers } = target;
  const endpoint = target.endpoint_url ?? "https://s3.amazonaws.com";
  return adviceFor(problem)({
    bucket: bucket_name,
    host: new URL(endpoint).host,
    key,
    arguments: Object.keys(put_headers).join(", "),
    isAws: isAws(target.endpoint_url),
  });
}

function adviceFor({ code, message, is_transient }: S3Problem) {
  const known = message.includes("kms:") ? "KMS" : (SAME_ADVICE[code] ?? code);
  const advice = Object.hasOwn(ADVICE, known) ? ADVICE[known] : undefined;
  if (advice !== undefined) return advice;
  if (is_transient) return ADVICE.LATER ?? other;
  return other;
}

function other({ host }: AdviceContext): string {
  return `Correct what ${host} reports, and retry`;
}
