import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unpackZstd } from "../../src/traces/zstd.ts";
import { packZstd } from "./support/zstd.ts";

const SKIPPABLE = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

test("decompresses any frames, however they are chunked", async () => {
  const frames = fc.array(
    fc.record({
      bytes: fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constant(new Uint8Array(300_000))),
      isChecked: fc.boolean(),
      isFollowed: fc.boolean(),
    }),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(frames, fc.integer({ min: 1, max: 400 }), async (wanted, piece_bytes) => {
      const packed: Uint8Array[] = [];
      for (const { bytes, isChecked, isFollowed } of wanted) {
        packed.push(await packZstd(bytes, isChecked));
        if (isFollowed) packed.push(SKIPPABLE);
      }
      const whole = await unpack(Buffer.concat(packed), piece_bytes);
      expect(whole.equals(Buffer.concat(wanted.map(({ bytes }) => bytes)))).toBe(true);
    }),
    { numRuns: 100 },
  );
});

describe.each([40_960, 65_536, 81_920, 131_072, 163_840, 327_680])("frames of %i bytes", (size) => {
  test.each([-1, 0, 1])("are unpacked, with %i bytes more", async (more) => {
    const noise = randomBytes(size + more);
    for (const bytes of [noise, new Uint8Array(size + more)]) {
      const frame = await packZstd(bytes);
      expect((await unpack(frame)).equals(bytes)).toBe(true);
      const both = await unpack(Buffer.concat([frame, SKIPPABLE, frame]));
      expect(both.equals(Buffer.concat([bytes, bytes]))).toBe(true);
    }
  });

  test("that are truncated or followed by other bytes are an error", async () => {
    const frame = await packZstd(randomBytes(size), true);
    for (const cut of [1, 4, 5, 1000, 40_000]) {
      await expect(unpack(frame.subarray(0, -cut))).rejects.toThrow();
      await expect(unpack(Buffer.concat([frame, frame.subarray(0, -cut)]))).rejects.toThrow();
    }
    for (const tail of ["x", "\0\0\0\0", "more than a few bytes that are no frame"]) {
      await expect(unpack(Buffer.concat([frame, Buffer.from(tail)]))).rejects.toThrow();
    }
  });
});

test("a frame that ends after any of its bytes but the last is an error", async () => {
  const frame = await packZstd(Buffer.from("hello hello hello hello"), true);
  for (let n = 1; n < frame.length; n++) {
    await expect(unpack(frame.subarray(0, n))).rejects.toThrow();
    await expect(unpack(Buffer.concat([frame, frame.subarray(0, n)]), 1)).rejects.toThrow();
  }
});

test("a wrong checksum is an error", async () => {
  const frame = await packZstd(Buffer.from("hello hello hello hello"), true);
  frame.set([(frame.at(-1) ?? 0) ^ 1], frame.length - 1);
  await expect(unpack(frame)).rejects.toThrow();
});

test("a frame whose window exceeds 8 MB is an error", async () => {
  // Window of 16 MB: the exponent minus 10, in the upper five bits.
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (24 - 10) << 3, 1, 0, 0]);
  await expect(unpack(frame)).rejects.toThrow();
  frame[5] = (23 - 10) << 3;
  expect((await unpack(frame)).length).toBe(0);
});

test("a consumer that stops early ends the source", async () => {
  const ended = Promise.withResolvers<void>();
  const frame = await packZstd(randomBytes(1_000_000));
  async function* source() {
    try {
      for (;;) yield frame;
    } finally {
      ended.resolve();
    }
  }
  for await (const chunk of unpackZstd(source())) {
    expect(chunk.length).toBeGreaterThan(0);
    break;
  }
  await ended.promise;
});

test("an error of the source is rethrown", async () => {
  const error = new Error("the client went away");
  async function* source() {
    yield await packZstd(Buffer.from("hello"));
    throw error;
  }
  const all = async () => {
    for await (const _ of unpackZstd(source()));
  };
  await expect(all()).rejects.toBe(error);
});

async function unpack(packed: Uint8Array, piece_bytes = 50_000): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < packed.length; at += piece_bytes) {
      yield packed.subarray(at, at + piece_bytes);
    }
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of unpackZstd(pieces())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}
