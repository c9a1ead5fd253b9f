import { gunzipSync, gzipSync } from "node:zlib";
import { inflateGzip } from "../inflate.ts";
import { PACKAGE_LIMITS } from "../limits.ts";
import { tarEntries } from "../tar.ts";

/** A package in memory, compressed to a size of `bytes`. The first call of `files` unpacks it. */
export type PackageFiles = { bytes: number; files(): Map<string, Uint8Array> };

/** Files that no bundle imports, about a third of a package's bytes. */
const UNREAD = /\.(map|md|markdown|flow)$|\.d\.[cm]?ts$/i;
const LENGTH_BYTES = 4;

export class PackageTooLarge extends Error {}

/** Packs the importable files of an npm tarball as one gzip: the length of a JSON index, the index, then the bytes. */
export async function packPackage(
  tarball: Uint8Array,
  max_bytes = PACKAGE_LIMITS.total_bytes,
): Promise<Uint8Array> {
  const index: [path: string, size: number][] = [];
  const parts: Uint8Array[] = [];
  const tooLarge = () => new PackageTooLarge("it is too large unpacked");
  const stream = inflateGzip(new Blob([tarball]).stream(), max_bytes, tooLarge);
  const entries = tarEntries(stream, { strict: false }, (text) => new Error(text));
  for await (const { header, body } of entries) {
    // The first folder is mostly, not always, "package".
    const path = header.name.split("/").slice(1).join("/");
    const isFile = (header.type ?? "file") === "file" && path !== "" && !path.endsWith("/");
    if (!isFile || UNREAD.test(path)) {
      await body.cancel();
      continue;
    }
    if (header.size > max_bytes) throw tooLarge();
    index.push([path, header.size]);
    parts.push(await new Response(body).bytes());
  }
  return gzipSync(concat([toHeader(index), ...parts]), { level: 4 });
}

/** Opens the result of `packPackage`. The files are unpacked when they are first read. */
export function openPackage(packed: Uint8Array): PackageFiles {
  let opened: Map<string, Uint8Array> | null = null;
  return {
    bytes: packed.byteLength,
    files() {
      opened ??= unpack(packed);
      return opened;
    },
  };
}

function unpack(packed: Uint8Array): Map<string, Uint8Array> {
  const bytes = new Uint8Array(gunzipSync(packed));
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const text = new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
  const files = new Map<string, Uint8Array>();
  let offset = LENGTH_BYTES + length;
  for (const [path, size] of JSON.parse(text) as [string, number][]) {
    files.set(path, bytes.subarray(offset, offset + size));
    offset += size;
  }
  return files;
}

function toHeader(index: [string, number][]): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(index));
  const header = new Uint8Array(LENGTH_BYTES + text.byteLength);
  new DataView(header.buffer).setUint32(0, text.byteLength, true);
  header.set(text, LENGTH_BYTES);
  return header;
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}
