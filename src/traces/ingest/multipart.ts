import { Buffer } from "node:buffer";
import { AppError, invalid } from "../../shared/errors.ts";
import { MAX_CONTENT_TYPE_CHARS } from "../limits.ts";
import { cutText } from "./ingest-schema.ts";

export type MultipartPart = { name: string; content_type: string; data: Uint8Array };

const MAX_HEADER_BYTES = 16_384;
const MAX_BOUNDARY_CHARS = 200;
/** Characters that a form escapes in names: quotes and line ends, and no other one. */
const ESCAPED = /%(?:22|0D|0A)/gi;
/** A quoted value without an end reaches to the end of the header, which takes linear time. */
const PARAMETER = /;\s*([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)\\?(?:"|$)|([^\s;]*))/gs;

/** @returns `null` when the type is not multipart/form-data, or its boundary is missing or too long */
export function boundaryOf(content_type: string): string | null {
  if (!/^multipart\/form-data\s*;/i.test(content_type.trim())) return null;
  const boundary = parameterOf(content_type, "boundary");
  return boundary && boundary.length <= MAX_BOUNDARY_CHARS ? boundary : null;
}

/** Reads the parameters in turn: a quoted value may have text that looks like another parameter. */
function parameterOf(header: string, wanted: string): string | null {
  for (const [, name, quoted, token] of header.matchAll(PARAMETER)) {
    if (name?.toLowerCase() === wanted) return quoted?.replaceAll(/\\(.)/g, "$1") ?? token ?? null;
  }
  return null;
}

/** Yields parts as bytes arrive, without trust in the lengths that clients send. */
export async function* readParts(
  bytes: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<MultipartPart> {
  let isFirst = true;
  for await (const segment of split(bytes, Buffer.from(`\r\n--${boundary}`))) {
    if (segment === "end") throw truncated();
    if (isFirst) {
      isFirst = false;
      continue;
    }
    if (segment.subarray(0, 2).toString("latin1") === "--") return;
    yield toPart(segment);
  }
}

/** Yields the bytes before and between delimiters; "end" when the closing delimiter is missing. */
async function* split(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: Buffer,
): AsyncGenerator<Buffer | "end"> {
  // The first delimiter may have no line break before it.
  let window = Buffer.from("\r\n");
  let pending: Buffer[] = [];
  for await (const chunk of bytes) {
    window = Buffer.concat([window, chunk]);
    let from = 0;
    for (;;) {
      const at = window.indexOf(delimiter, from);
      if (at < 0) break;
      yield Buffer.concat([...pending, window.subarray(from, at)]);
      pending = [];
      from = at + delimiter.length;
    }
    const consumed = Math.max(from, window.length - delimiter.length + 1);
    if (consumed > from) pending.push(window.subarray(from, consumed));
    window = window.subarray(consumed);
  }
  // The closing delimiter ends with two dashes, and nothing has to follow it.
  const rest = Buffer.concat([...pending, window]);
  yield rest.subarray(0, 2).toString("latin1") === "--" ? rest : "end";
}

function toPart(segment: Buffer): MultipartPart {
  const start = segment.indexOf("\r\n");
  const end = segment.indexOf("\r\n\r\n", Math.max(start, 0));
  if (start < 0 || end < 0 || end > MAX_HEADER_BYTES) {
    throw invalid(
      ["body"],
      `the headers of a part must end with an empty line, and have at most ${MAX_HEADER_BYTES} bytes`,
    );
  }
  const headers = readHeaders(segment.toString("utf8", start + 2, Math.max(end, start + 2)));
  const name = parameterOf(headers.get("content-disposition") ?? "", "name")?.replaceAll(
    ESCAPED,
    (code) => decodeURIComponent(code),
  );
  if (!name) {
    throw invalid(["body"], 'a part has no name: send Content-Disposition: form-data; name="..."');
  }
  return {
    name,
    content_type: typeOf(headers.get("content-type")),
    data: segment.subarray(end + 4),
  };
}

function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0)
      headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

/** Drops the length that SDKs append. The type is stored in the row of the run, so it is cut. */
function typeOf(value: string | undefined): string {
  const parts = (value ?? "application/octet-stream").split(";");
  const type = parts.filter((part) => !/^\s*length\s*=/i.test(part)).join(";");
  return cutText(type.trim(), MAX_CONTENT_TYPE_CHARS);
}

function truncated(): AppError {
  const text = "The multipart body ends before its closing boundary; no run was stored.";
  return new AppError("bad_request", text);
}
