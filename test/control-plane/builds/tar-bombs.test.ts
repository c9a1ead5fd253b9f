import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expect, test } from "vitest";
import { SOURCE_LIMITS, TAR_LIMITS } from "../../../src/control-plane/builds/limits.ts";
import { packPackage } from "../../../src/control-plane/builds/packages/package-files.ts";
import { unpackSource } from "../../../src/control-plane/builds/source/archive.ts";
import { limitMetadata } from "../../../src/control-plane/builds/tar.ts";

const KB = 1024;
const MB = 1024 * KB;
type TarEntry = Parameters<typeof packTar>[0][number];
type Metadata = "pax-header" | "pax-global-header" | "gnu-long-name" | "gnu-long-link-name";

/** Each "2a" is a record of two bytes, and its length is searched up to the next space: there is none. */
const malformedPax = (size: number) => new TextEncoder().encode("2a".repeat(size / 2));

function metadata(type: Metadata, body: Uint8Array): TarEntry {
  return { header: { name: "metadata", type, size: body.byteLength }, body };
}

const file = (name: string): TarEntry => ({ header: { name, size: 2 }, body: "ok" });
const unpack = (tar: Uint8Array) => unpackSource(new Blob([gzipSync(tar)]).stream(), null);

/** Bytes that reach the decoder, which gets the tar in chunks of this size. */
async function passedBytes(tar: Uint8Array, chunk_bytes: number) {
  let passed = 0;
  const chunks = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < tar.byteLength; at += chunk_bytes) {
        controller.enqueue(tar.slice(at, at + chunk_bytes));
      }
      controller.close();
    },
  });
  const sink = new WritableStream<Uint8Array>({
    write(chunk) {
      passed += chunk.byteLength;
    },
  });
  const limited = chunks.pipeThrough(limitMetadata((text) => new Error(text))).pipeTo(sink);
  const error = await limited.then(
    () => null,
    (reason: Error) => reason.message,
  );
  return { passed, error };
}

test.each<Metadata>(["pax-header", "pax-global-header", "gnu-long-name", "gnu-long-link-name"])(
  "a %s of 8 MB is refused before the decoder reads its body",
  async (type) => {
    const tar = await packTar([metadata(type, malformedPax(8 * MB)), file("a.ts")]);
    for (const chunk_bytes of [512, 1000, 4 * KB]) {
      const { passed, error } = await passedBytes(tar, chunk_bytes);
      expect(error).toContain("pax headers and long names are too large");
      expect(passed).toBeLessThanOrEqual(512);
    }
    await expect(unpack(tar)).rejects.toMatchObject({ reason: "source_too_large" });
    await expect(packPackage(gzipSync(tar))).rejects.toThrow("long names are too large");
  },
);

test("many pax headers below the limit are refused together", async () => {
  const bombs = Array.from({ length: 17 }, () => metadata("pax-header", malformedPax(16 * KB)));
  const tar = await packTar([...bombs, file("a.ts")]);
  const { passed, error } = await passedBytes(tar, 512);
  expect(error).toContain("too large");
  expect(passed).toBe(16 * (512 + 16 * KB));
});

test("a pax header is found where a size of base 256 or another header hides it", async () => {
  const [bomb, cover] = [malformedPax(8 * MB), metadata("pax-header", new Uint8Array(8 * MB))];
  const hidden = await packTar([metadata("pax-header", bomb)]);
  const size = hidden.subarray(124, 136).fill(0);
  size[0] = 0x80;
  new DataView(size.buffer, size.byteOffset).setUint32(8, 8 * MB);
  expect((await passedBytes(hidden, 512)).passed).toBe(0);
  // A pax record sets the size of the next file to 0: the decoder takes the file's body for headers.
  const inner = await packTar([cover]);
  const zero = new TextEncoder().encode("9 size=0\n");
  const outer = { header: { name: "a.bin", size: inner.byteLength }, body: inner };
  const nested = await packTar([metadata("pax-header", zero), outer]);
  const { passed, error } = await passedBytes(nested, 512);
  expect(error).toContain("too large");
  expect(passed).toBe(3 * 512);
});

test("long paths, comments and extended attributes are read", async () => {
  const path = `${"folder/".repeat(60)}a.ts`;
  const pax = { comment: "0".repeat(40), "SCHILY.xattr.user.note": "x".repeat(4000) };
  const entries = Array.from({ length: 200 }, (_, n) => file(`${n}/${path}`));
  const tar = await packTar([{ header: { name: "b.ts", size: 2, pax }, body: "ok" }, ...entries]);
  const { tree } = await unpack(tar);
  expect(tree.files.size).toBe(201);
  expect(tree.commit?.repo_commit_sha).toBe("0".repeat(40));
});

test("blocks of files that resemble no header do not count", async () => {
  const text = new TextEncoder().encode("x".repeat(2 * MB));
  const random = new Uint8Array(2 * MB);
  for (let at = 0; at < random.byteLength; at += 64 * KB) {
    crypto.getRandomValues(random.subarray(at, at + 64 * KB));
  }
  const entries = [text, random].map((body, n) => ({
    header: { name: `${n}.bin`, size: body.byteLength },
    body,
  }));
  const tar = await packTar(entries);
  expect(await passedBytes(tar, 64 * KB)).toEqual({ passed: tar.byteLength, error: null });
});

test("an archive with too many entries is refused, whatever they are", async () => {
  const folder = (await packTar([{ header: { name: "a/", type: "directory", size: 0 } }])).subarray(
    0,
    512,
  );
  const tar = new Uint8Array(512 * (TAR_LIMITS.entries + 1) + 1024);
  for (let n = 0; n <= TAR_LIMITS.entries; n++) tar.set(folder, n * 512);
  await expect(unpack(tar)).rejects.toMatchObject({
    reason: "source_too_large",
    message: "The archive has more than 50000 entries.",
  });
}, 60_000);

test("an archive is refused by a file that no build reads", async () => {
  const image = { header: { name: "a.png", size: 17 * MB }, body: new Uint8Array(17 * MB) };
  await expect(unpack(await packTar([image]))).rejects.toThrow("a.png has 17.8 MB");
});

test("zeros behind the end of an archive count", async () => {
  let sent = 0;
  const zeros = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += MB;
      controller.enqueue(new Uint8Array(MB));
      if (sent > SOURCE_LIMITS.archive_bytes) controller.close();
    },
  });
  const stream = zeros.pipeThrough(
    new CompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>,
  );
  await expect(unpackSource(stream, null)).rejects.toThrow("more than 134.2 MB unpacked");
}, 60_000);
