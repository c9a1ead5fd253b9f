import { AppError } from "../../shared/errors.ts";
import type { Answer } from "./problem.ts";
import { readText } from "./xml.ts";

type AddressingStyle = "auto" | "virtual" | "path";

export type Place = {
  /** null: AWS. */
  endpoint_url: string | null;
  bucket_name: string;
  addressing_style: AddressingStyle;
};

const AWS = /^s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?$/;
/** `s3.eu-west-1.amazonaws.com`, `s3-eu-west-1...`, and the hosts of those who name theirs alike. */
const REGIONAL = /^(?:[^.]+\.)?s3[.-](?:dualstack\.)?([a-z]{2,}(?:-[a-z0-9]+)+)\./;

/** Where an object is asked for; without a key, the bucket. Every escape as the signature has it. */
export function objectUrl(
  place: Place,
  region: string,
  key: string,
  query: Record<string, string> = {},
): URL {
  const server = new URL(place.endpoint_url ?? awsEndpoint(region));
  const isVirtual = styleOf(place) === "virtual";
  const endpoint = isVirtual ? beforeHost(place.bucket_name, server) : server;
  const path = `${isVirtual ? "" : `/${place.bucket_name}`}/${encodeKey(key)}`;
  const url = new URL(path, endpoint);
  if (url.pathname !== path) {
    throw new AppError("invalid_request", `"${key}" must not have "." or ".." as a segment.`);
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** A bucket is a part of the host at AWS; elsewhere, and where its name breaks the certificate, of the path. */
function styleOf({ endpoint_url, bucket_name, addressing_style }: Place) {
  if (addressing_style !== "auto") return addressing_style;
  if (bucket_name.includes(".")) return "path";
  return endpoint_url === null || AWS.test(new URL(endpoint_url).hostname) ? "virtual" : "path";
}

/** Styles to try when none is named, the likelier first. A number has no subdomain, nor has a bare name. */
export function stylesToTry(place: Place): ("virtual" | "path")[] {
  const first = styleOf(place);
  if (place.addressing_style !== "auto") return [first];
  const host = place.endpoint_url === null ? "" : new URL(place.endpoint_url).hostname;
  if (host !== "" && (/^[\d.]+$/.test(host) || !host.includes("."))) return ["path"];
  return first === "path" ? ["path", "virtual"] : ["virtual", "path"];
}

/** The region to sign for when the destination names none. */
export function regionOf(endpoint_url: string | null): string {
  if (endpoint_url === null) return "us-east-1";
  const { hostname } = new URL(endpoint_url);
  if (hostname.endsWith(".r2.cloudflarestorage.com")) return "auto";
  return REGIONAL.exec(hostname)?.[1] ?? "us-east-1";
}

/** An endpoint of AWS follows its bucket to another region; any other stays who it is. */
export function endpointIn(endpoint_url: string | null, region: string): string | null {
  if (endpoint_url === null || !AWS.test(new URL(endpoint_url).hostname)) return endpoint_url;
  return awsEndpoint(region);
}

/**
 * The region in which the server wants the request signed. Only the region is taken from a
 * redirect, never its host: nobody gets data or a signature but whom the destination names.
 */
export function regionHint({ status, headers, text }: Answer): string | null {
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
  return `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
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
