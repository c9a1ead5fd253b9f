import { HEAD_FORBIDDEN, isS3Error } from "./problem.ts";
import type { BodyDigests, Call } from "./signing.ts";
import {
  type Headers,
  headObject,
  putHeaders,
  requireValue,
  send,
  type Transport,
  unless,
} from "./transport.ts";
import {
  hasParts,
  type MultipartUpload,
  type ObjectProperties,
  quoteEtag,
  readUploads,
  toCompleteXml,
  type UploadPart,
} from "./uploads.ts";
import { readText } from "./xml.ts";

/** Codes that servers return for a completed upload that is completed again. Ceph returns the second. */
const GONE = ["NoSuchUpload", "InternalError"];
/** Bounds a list: S3 has 1000 uploads on a page, and some servers ignore the prefix. */
const MAX_PAGES = 20;

/** Calls of multipart uploads. */
export function uploadCalls(transport: Transport) {
  return {
    async createUpload(key: string, headers?: Headers) {
      const all = putHeaders(transport, headers);
      const call: Call = { method: "POST", key, query: { uploads: "" }, headers: all };
      const answer = await send(transport, call);
      return {
        upload_id: requireValue(readText(answer.text, "UploadId"), "UploadId", answer.status),
      };
    },

    async uploadPart(
      key: string,
      upload_id: string,
      number: number,
      body: Uint8Array,
      digests: BodyDigests = {},
    ) {
      const query = { partNumber: String(number), uploadId: upload_id };
      const answer = await send(transport, { method: "PUT", key, query, body, digests });
      return { etag: requireValue(answer.headers.get("etag"), "ETag", answer.status) };
    },

    /** `expected` identifies the object when the response was lost and the upload is gone. */
    completeUpload: (
      key: string,
      upload_id: string,
      parts: UploadPart[],
      expected?: ObjectProperties,
    ) => completeUpload(transport, { key, upload_id, parts, expected }),

    async abortUpload(key: string, upload_id: string): Promise<void> {
      const call: Call = { method: "DELETE", key, query: { uploadId: upload_id } };
      await unless(["NoSuchUpload", 404], () => send(transport, call));
    },

    listUploads: (prefix: string) => listUploads(transport, prefix),
  };
}

type Completion = {
  key: string;
  upload_id: string;
  parts: UploadPart[];
  expected: ObjectProperties | undefined;
};

async function completeUpload(transport: Transport, completion: Completion) {
  const { key, upload_id, parts } = completion;
  const body = new TextEncoder().encode(toCompleteXml(parts));
  const call: Call = { method: "POST", key, query: { uploadId: upload_id }, body };
  return transport.retry(async (attempt) => {
    try {
      const { text } = await transport.once(call);
      return { etag: quoteEtag(readText(text, "ETag")) };
    } catch (error) {
      const isRepeated = attempt > 1 && isS3Error(error, GONE);
      const object = isRepeated ? await findUploaded(transport, completion) : null;
      if (object === null) throw error;
      return { etag: object.etag };
    }
  });
}

/** Finds the object of an attempt whose response was lost, if the credentials allow HEAD. */
async function findUploaded(transport: Transport, { key, parts, expected }: Completion) {
  const object = await unless(HEAD_FORBIDDEN, () => headObject(transport, key));
  return object !== null && hasParts(object, parts, expected) ? object : null;
}

async function listUploads(transport: Transport, prefix: string): Promise<MultipartUpload[]> {
  const found: MultipartUpload[] = [];
  let after: Record<string, string> = {};
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { uploads: "", prefix, ...after };
    const { text } = await send(transport, { method: "GET", key: "", query });
    found.push(...readUploads(text));
    if (readText(text, "IsTruncated") !== "true") break;
    after = {
      "key-marker": readText(text, "NextKeyMarker") ?? "",
      "upload-id-marker": readText(text, "NextUploadIdMarker") ?? "",
    };
  }
  return found;
}
