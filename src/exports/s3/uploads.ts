import { createHash } from "node:crypto";
import { escapeXml, readElements, readText } from "./xml.ts";

export type UploadPart = { number: number; etag: string };
export type MultipartUpload = { key: string; upload_id: string; initiated: string };
export type StoredObject = {
  bytes: number;
  etag: string | null;
  metadata: Record<string, string>;
};
/** Properties that identify an uploaded object. */
export type ObjectProperties = { bytes: number; metadata?: Record<string, string> };

const PREFIX = "x-amz-meta-";

export function toCompleteXml(parts: readonly UploadPart[]): string {
  const listed = [...parts].sort((a, b) => a.number - b.number).map(toXml);
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${listed.join("")}</CompleteMultipartUpload>`;
}

export function readUploads(xml: string): MultipartUpload[] {
  return readElements(xml, "Upload").map((upload) => ({
    key: readText(upload, "Key") ?? "",
    upload_id: readText(upload, "UploadId") ?? "",
    initiated: readText(upload, "Initiated") ?? "",
  }));
}

export function toStoredObject(headers: Headers): StoredObject {
  const metadata = [...headers].filter(([name]) => name.startsWith(PREFIX));
  return {
    bytes: Number(headers.get("content-length") ?? 0),
    etag: quoteEtag(headers.get("etag")),
    metadata: Object.fromEntries(
      metadata.map(([name, value]) => [name.slice(PREFIX.length), value]),
    ),
  };
}

/** Adds the quotes that some servers omit in XML. Returns `null` without an ETag, which Ceph omits. */
export function quoteEtag(etag: string | null): string | null {
  if (!etag) return null;
  return etag.endsWith('"') ? etag : `"${etag}"`;
}

/** Whether an object is the completed upload. Compares the `expected` properties, or without them the multipart ETag. */
export function hasParts(
  object: StoredObject,
  parts: readonly UploadPart[],
  expected: ObjectProperties | undefined,
): boolean {
  if (expected === undefined) return bareEtag(object.etag ?? "") === multipartTag(parts);
  const metadata = Object.entries(expected.metadata ?? {});
  return (
    object.bytes === expected.bytes &&
    metadata.every(([name, value]) => object.metadata[name.toLowerCase()] === value)
  );
}

/** Returns S3's multipart ETag: the MD5 of the parts' MD5s, and their number. */
function multipartTag(parts: readonly UploadPart[]): string {
  const hash = createHash("md5");
  for (const { etag } of [...parts].sort((a, b) => a.number - b.number)) {
    hash.update(bareEtag(etag), "hex");
  }
  return `${hash.digest("hex")}-${parts.length}`;
}

function bareEtag(etag: string): string {
  return etag.replace(/^W\//, "").replaceAll('"', "");
}

function toXml({ number, etag }: UploadPart): string {
  return `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`;
}
