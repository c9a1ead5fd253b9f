import { AppError } from "../../shared/errors.ts";
import { partitionOf } from "./partitions.ts";
import type { S3Response } from "./problem.ts";
import { readText } from "./xml.ts";

type AddressingStyle = "auto" | "virtual" | "path";

export type BucketAddress = {
  /** `null` for the regional endpoint of AWS. */
  endpoint_url: string | null;
  bucket_name: string;
  addressing_style: AddressingStyle;
};

const AWS_ACCELERATED = "s3-accelerate.amazonaws.com";
const AWS = /^s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.(?:com|com\.cn|eu)$/;
/** Regional hosts of AWS, and of servers that name theirs alike. */
const REGIONAL = /^(?:[^.]+\.)?s3[.-](?:dualstack\.)?([a-z]{2,}(?:-[a-z0-9]+)+)\./;
const SERVERS =
  /(?:^storage\.googleapis|\.r2\.cloudflarestorage|^[a-z0-9]+\.digitaloceanspaces|^s3\.wasabisys)\.com$/;

/**
 * Returns the URL of an object, or of the bucket for an empty key. Escapes as the signature requires.
 * @throws AppError `invalid_request` for a key that a URL cannot have, and for an IP address with the style `virtual`
 */
export function objectUrl(
  address: BucketAddress,
  region: string,
  key: string,
  query: Record<string, string> = {},
): URL {
  const server = new URL(address.endpoint_url ?? awsEndpoint(region));
  const isVirtual = styleOf(address) === "virtual";
  const endpoint = isVirtual ? beforeHost(address.bucket_name, server) : server;
  const path = `${isVirtual ? "" : `/${address.bucket_name}`}/${encodeKey(key)}`;
  const url = new URL(path, endpoint);
  if (url.pathname !== path) {
    throw new AppError("invalid_request", `"${key}" must not have "." or ".." as a segment.`);
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/**
 * Returns the configured style. For `auto`, returns `virtual` for AWS, and `path` for other servers and for bucket names
 * with dots, which do not match the certificate of a host name.
 */
function styleOf({ endpoint_url, bucket_name, addressing_style }: BucketAddress) {
  if (addressing_style !== "auto") return addressing_style;
  if (bucket_name.includes(".")) return "path";
  return isAws(endpoint_url) ? "virtual" : "path";
}

/** Whether requests go to AWS. `null` is a destination without `endpoint_url`. */
export function isAws(endpoint_url: string | null): boolean {
  if (endpoint_url === null) return true;
  const { hostname } = new URL(endpoint_url);
  return hostname === AWS_ACCELERATED || AWS.test(hostname);
}

/** Whether a host is known to be an S3 server. A label before such a host is the name of a bucket. */
export function isServer({ host, hostname }: { host: string; hostname: string }): boolean {
  return isAws(`https://${host}`) || SERVERS.test(hostname) || REGIONAL.test(hostname);
}

/** Returns the styles to try, the likelier first. IP addresses and bare host names have no subdomains. */
export function stylesToTry(address: BucketAddress): ("virtual" | "path")[] {
  const first = styleOf(address);
  if (address.addressing_style !== "auto") return [first];
  const host = address.endpoint_url === null ? "" : new URL(address.endpoint_url).hostname;
  if (host !== "" && (/^[\d.]+$/.test(host) || !host.includes("."))) return ["path"];
  return first === "path" ? ["path", "virtual"] : ["virtual", "path"];
}

/** Returns the region to sign for when the destination names none. */
export function regionOf(endpoint_url: string | null): string {
  if (endpoint_url === null) return "us-east-1";
  const { hostname } = new URL(endpoint_url);
  if (hostname.endsWith(".r2.cloudflarestorage.com")) return "auto";
  return REGIONAL.exec(hostname)?.[1] ?? "us-east-1";
}

/** Returns the endpoint for a bucket of another region. Only endpoints of AWS change. */
export function endpointIn(endpoint_url: string | null, region: string): string | null {
  if (endpoint_url === null || !AWS.test(new URL(endpoint_url).hostname)) return endpoint_url;
  return awsEndpoint(region);
}

/**
 * Returns the region that a server demands, `null` without one. Reads the region from the host of a redirect, and does not
 * follow it: only the configured host, or AWS, receives data and signatures.
 */
export function regionHint({ status, headers, text }: S3Response): string | null {
  if (![301, 307, 400, 403].includes(status)) return null;
  const location = URL.parse(headers.get("location") ?? "")?.hostname ?? "";
  const endpoint = readText(text, "Endpoint") ?? "";
  const region =
    headers.get("x-amz-bucket-region") ??
    readText(text, "Region") ??
    REGIONAL.exec(endpoint)?.[1] ??
    REGIONAL.exec(location)?.[1] ??
    "";
  return /^[a-z0-9-]{2,40}$/.test(region) ? region : null;
}

function beforeHost(bucket_name: string, { protocol, host }: URL): URL {
  const url = URL.parse(`${protocol}//${bucket_name}.${host}`);
  if (url !== null) return url;
  const text = `${host} is an IP address: addressing_style must be path.`;
  throw new AppError("invalid_request", text);
}

function awsEndpoint(region: string): string {
  return `https://s3.${region}.${partitionOf(region).domain}`;
}

function encodeKey(key: string): string {
  return key.split("/").map(encode).join("/");
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
