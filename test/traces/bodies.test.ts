import { exports } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import { deflateSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../src/traces/limits.ts";
import { type TestWorkspace, workspace } from "../support/workspace.ts";
import { multipart, read, wireRun } from "./support/runs.ts";
import { packZstd } from "./support/zstd.ts";

type Pack = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;
type Body = { path: string; type: string; bytes: Uint8Array };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const FRAME_BYTES = 40_960;
/**
 * workerd's zlib buffer has 40,960 bytes and doubles; frames that fill it exactly were once taken
 * for truncated.
 */
const SIZES = [40_960, 81_920, 163_840].flatMap((size) => [size - 1, size, size + 1]);

const PACKED: [name: string, encoding: string, Pack][] = [
  ["zstd", "zstd", packZstd],
  ["zstd in frames", "zstd", packFrames],
  ["gzip", "gzip", (bytes) => gzipSync(bytes)],
  ["deflate", "deflate", (bytes) => deflateSync(bytes)],
];

describe.each(PACKED)("a body packed by %s", (_, encoding, pack) => {
  test.each(SIZES)("of %i bytes unpacked is taken as multipart and as JSON", async (size) => {
    for (const write of [asMultipart, asJson]) {
      const { run, text, ...body } = await sized(size, write);
      expect(body.bytes.length).toBe(size);
      const response = await send({ ...body, bytes: await pack(body.bytes) }, encoding);
      expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
      expect((await read(ours.viewer, run.id)).inputs).toEqual({ text });
    }
  });

  test("that is truncated or followed by other bytes is a 400", async () => {
    const { run, text: _, ...body } = await sized(81_920, asMultipart);
    const packed = Buffer.from(await pack(body.bytes));
    const wrong = [1, 4, 2000].map((cut) => packed.subarray(0, -cut));
    for (const bytes of [...wrong, Buffer.concat([packed, Buffer.from("\0\0\0\0tail")])]) {
      const response = await send({ ...body, bytes }, encoding);
      expect(response.status).toBe(400);
      expect((await response.json<{ error: string }>()).error).toBe(
        `The body is not valid ${encoding}: it is truncated or corrupt.`,
      );
    }
    await expect(read(ours.viewer, run.id)).rejects.toThrow("404");
  });

  test.each([
    [0, 202],
    [1, 413],
  ])("of what may be and %i bytes more is a %i", async (more, status) => {
    const bytes = new Uint8Array(MAX_BODY_BYTES + more).fill(32);
    bytes.set([123, 125]);
    const body = { path: "/runs/batch", type: "application/json", bytes: await pack(bytes) };
    expect((await send(body, encoding)).status).toBe(status);
  });
});

describe("a request with too many objects and lists", () => {
  const many = (count: number) => `[${Array<string>(count).fill("[]").join(",")}]`;
  const sendJson = (path: string, type: string, text: BodyInit) =>
    exports.default.fetch(new URL(path, "https://heddle.test"), {
      method: "POST",
      headers: { "X-Api-Key": ours.editor, "Content-Type": type },
      body: text,
    });
  const refusal = [413, expect.stringContaining("more than 1000000 objects and lists")];

  test.each(["/runs", "/runs/batch", "/otel/v1/traces"])("is refused at %s", async (path) => {
    const answer = await sendJson(path, "application/json", `{"a":${many(1_000_000)}}`);
    expect([answer.status, await answer.text()]).toEqual(refusal);
  });

  test("is not one with brackets in texts", async () => {
    const run = wireRun("sized", { inputs: { text: `\\"[{${"[{".repeat(1_000_000)}\\` } });
    const answer = await sendJson("/runs", "application/json", JSON.stringify(run));
    expect(answer.status).toBe(202);
  });

  test("in all its parts is stored without the runs that do not fit", async () => {
    const runs = [0, 1, 2].map(() => wireRun("sized"));
    const counts = [600_000, 600_000, 10];
    const parts = runs.flatMap(({ inputs: _, ...run }, n) => [
      { name: `post.${run.id}`, data: JSON.stringify(run) },
      { name: `post.${run.id}.inputs`, data: `{"a":${many(counts[n] ?? 0)}}` },
    ]);
    const type = "multipart/form-data; boundary=----boundary";
    const answer = await sendJson("/runs/multipart", type, (await multipart(parts)) as BodyInit);
    const text = await answer.text();
    expect([answer.status, text]).toEqual([422, expect.stringContaining(`${runs[1]?.id}`)]);
    expect(text).toContain("The other 2 runs are stored.");
    for (const n of [0, 2]) await read(ours.viewer, String(runs[n]?.id));
  });
});

type Write = (run: ReturnType<typeof wireRun>) => Promise<Body>;

/** Returns a body of exactly this size with one run whose input does not compress. */
async function sized(size: number, write: Write) {
  const run = wireRun("sized");
  const empty = await write({ ...run, inputs: { text: "" } });
  const text = noise(size - empty.bytes.length);
  return { run, text, ...(await write({ ...run, inputs: { text } })) };
}

async function asJson(run: ReturnType<typeof wireRun>): Promise<Body> {
  const bytes = new TextEncoder().encode(JSON.stringify({ post: [run] }));
  return { path: "/runs/batch", type: "application/json", bytes };
}

async function asMultipart({ inputs, ...run }: ReturnType<typeof wireRun>): Promise<Body> {
  const bytes = await multipart([
    { name: `post.${run.id}`, data: JSON.stringify(run) },
    { name: `post.${run.id}.inputs`, data: JSON.stringify(inputs) },
  ]);
  return { path: "/runs/multipart", type: "multipart/form-data; boundary=----boundary", bytes };
}

function send({ path, type, bytes }: Body, encoding: string): Promise<Response> {
  return exports.default.fetch(new URL(path, "https://heddle.test"), {
    method: "POST",
    headers: { "X-Api-Key": ours.editor, "Content-Type": type, "Content-Encoding": encoding },
    body: bytes as BodyInit,
  });
}

async function packFrames(bytes: Uint8Array): Promise<Uint8Array> {
  const frames: Uint8Array[] = [];
  const step = Math.max(FRAME_BYTES, bytes.length >> 4);
  for (let at = 0; at < bytes.length; at += step) {
    frames.push(await packZstd(bytes.subarray(at, at + step), true));
  }
  return Buffer.concat(frames);
}

function noise(length: number): string {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Buffer.from(bytes).toString("base64").slice(0, length);
}
