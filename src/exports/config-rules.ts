import { isServer } from "./s3/addresses.ts";

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$/;
/**
 * S3 limits keys to 1024 bytes. Leaves room for the bucket's name, which `include_bucket_in_prefix` adds, the partitions
 * and the file.
 */
const MAX_PREFIX_BYTES = 600;

export function bucketProblem(bucket_name: string): string | null {
  if (bucket_name.includes("/")) {
    return "must be the name of the bucket without s3:// and without a path: set prefix for the path";
  }
  if (BUCKET.test(bucket_name) && !bucket_name.includes("..")) return null;
  return "must contain only letters, digits, hyphens, _ and single dots, and begin and end with a letter or digit";
}

export function endpointProblem(endpoint_url: string | null, bucket_name: string): string | null {
  const url = endpoint_url === null ? null : URL.parse(endpoint_url);
  // The schema reports malformed URLs.
  if (url === null) return null;
  const { hostname, host, protocol, pathname, search, hash } = url;
  const bucket = bucket_name.toLowerCase();
  const server = URL.parse(`${protocol}//${host.slice(bucket.length + 1)}`);
  // A server's own name may begin like the bucket's: https://minio.example.com.
  if (hostname.startsWith(`${bucket}.`) && server !== null && isServer(server)) {
    return `must not contain the bucket "${bucket_name}": use ${server.origin}`;
  }
  if (pathname.split("/")[1] === bucket_name) {
    return `must not contain the bucket "${bucket_name}": use ${protocol}//${host}`;
  }
  if (pathname === "/" && search === "" && hash === "") return null;
  return `must be a server without path or query, such as ${protocol}//${host}: set prefix for a path in the bucket`;
}

export function prefixProblem(prefix: string): string | null {
  if (/^[a-z0-9]+:\/\//i.test(prefix)) return "must be a path within the bucket, without s3://";
  if (/\p{Cc}/u.test(prefix)) return "must not contain control characters";
  if (!prefix.isWellFormed()) return "must not contain half of a surrogate pair";
  if (prefix.split("/").some((part) => part === "." || part === "..")) {
    return 'must not have "." or ".." as a segment';
  }
  if (new TextEncoder().encode(prefix).byteLength > MAX_PREFIX_BYTES) {
    return `must be at most ${MAX_PREFIX_BYTES} bytes: object keys have at most 1024`;
  }
  return null;
}
