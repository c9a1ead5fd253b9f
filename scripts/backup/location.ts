// Addresses of backups: s3://bucket/prefix, the server and the key from options and the environment.
import type { S3Target } from "../../src/exports/s3/signing.ts";
import { BackupError } from "./problem.ts";

export type Location = { target: S3Target; prefix: string };

export function readLocation(
  option: "--to" | "--from",
  address: string | undefined,
  endpoint: string | undefined,
  env: NodeJS.ProcessEnv,
): Location {
  const [, bucket_name = "", prefix = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]+)\/?(.*?)\/*$/.exec(address ?? "") ?? [];
  if (bucket_name === "") {
    throw new BackupError(`${option} must be s3://bucket/prefix, not "${address ?? ""}".`);
  }
  if (!/^[\w.=/-]*$/.test(prefix) || /(^|\/)\.{1,2}(\/|$)|\/\//.test(prefix)) {
    throw new BackupError(
      `${option}: the prefix "${prefix}" may have letters, digits, "_", "-", "=" and "." between slashes.`,
    );
  }
  const target: S3Target = {
    endpoint_url: readEndpoint(endpoint, env),
    bucket_name,
    addressing_style: "auto",
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION || null,
    put_headers: {},
    checksums: true,
    credentials: readCredentials(env),
  };
  return { target, prefix: prefix === "" ? "" : `${prefix}/` };
}

function readEndpoint(endpoint: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const text = endpoint ?? (env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || "");
  if (text === "") return null;
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new BackupError(`--endpoint is "${text}"; give a URL like https://s3.example.com.`);
}

function readCredentials(env: NodeJS.ProcessEnv): S3Target["credentials"] {
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "", AWS_SESSION_TOKEN = "" } = env;
  if (AWS_ACCESS_KEY_ID === "" || AWS_SECRET_ACCESS_KEY === "") {
    throw new BackupError(
      "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of the bucket, in the environment.",
    );
  }
  return {
    access_key_id: AWS_ACCESS_KEY_ID,
    secret_access_key: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN === "" ? {} : { session_token: AWS_SESSION_TOKEN }),
  };
}
