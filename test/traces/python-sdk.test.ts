import { exports } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import { gzipSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import batchRequest from "../fixtures/traces/python-batch.bin";
import plainRequest from "../fixtures/traces/python-plain.bin";
import zstdRequest from "../fixtures/traces/python-zstd.bin";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { projectId, type ReadRun, read } from "./support/runs.ts";

type Recorded = { path: string; headers: Headers; body: Uint8Array };

const TEXT = 'quotes " and \\, é, 🙂, nul \u0000, line\r\n--';

/** Parses a request recorded by `test/fixtures/traces/record.py`. */
function recorded(bytes: ArrayBuffer): Recorded {
  const buffer = Buffer.from(bytes);
  const end = buffer.indexOf("\r\n\r\n");
  const [request = "", ...lines] = buffer.toString("latin1", 0, end).split("\r\n");
  const headers = lines.map((line: string): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return {
    path: request.split(" ")[1] ?? "",
    headers: new Headers(headers.filter(([name]: [string, string]) => name !== "Content-Length")),
    body: new Uint8Array(buffer.subarray(end + 4)),
  };
}

async function replay({ path, headers, body }: Recorded, ours: TestWorkspace) {
  headers.set("x-api-key", ours.editor);
  const url = new URL(path, "https://heddle.test");
  const response = await exports.default.fetch(url, {
    method: "POST",
    headers,
    body: body as BodyInit,
  });
  expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
}

async function runsOf(ours: TestWorkspace): Promise<Record<string, ReadRun>> {
  const session = [await projectId(ours.viewer, "recorded")];
  const response = await api("/runs/query", { key: ours.viewer, json: { session } });
  const { runs } = await response.json<{ runs: ReadRun[] }>();
  expect(runs).toHaveLength(3);
  return Object.fromEntries(runs.map((run) => [String(run.name), run]));
}

async function expectTrace(ours: TestWorkspace, has_files: boolean) {
  const { "agent 🙂": root, model, tool } = await runsOf(ours);
  expect(root).toMatchObject({
    status: "success",
    start_time: "2026-11-20T23:59:59.999000Z",
    end_time: "2026-11-21T00:00:02.999000Z",
    inputs: { question: TEXT, float: 0.1 },
    outputs: { answer: 42 },
    tags: ["recorded", "ü"],
    thread_id: "t-1",
    extra: { metadata: { user_id: "u1", größe: 1.5 } },
  });
  expect(model).toMatchObject({
    run_type: "llm",
    parent_run_id: root?.id,
    inputs: { messages: [[{ role: "user", content: TEXT }]] },
    total_tokens: 14,
    first_token_time: "2026-11-21T00:00:00.499000Z",
  });
  expect(tool).toMatchObject({ status: "error", error: `ValueError('${TEXT}')`, inputs: {} });
  const whole = await read(ours.viewer, root?.id ?? "");
  expect(whole.child_run_ids).toEqual([model?.id, tool?.id]);
  const text = await (await api(`/runs/${root?.id}`, { key: ours.viewer })).text();
  expect(text).toContain('"big":9223372036854775807');
  if (!has_files) return;
  expect(whole).toMatchObject({
    feedback_stats: { correct: { n: 1, avg: 0.5 } },
    files: {
      picture: { content_type: "image/png", bytes: 11 },
      "disk file": { content_type: "application/octet-stream", bytes: 256 },
    },
  });
  const file = async (name: string) => {
    const path = `/runs/${root?.id}/attachments/${encodeURIComponent(name)}`;
    return (await api(path, { key: ours.viewer })).bytes();
  };
  expect(Buffer.from(await file("picture")).toString("latin1")).toBe("\u0089PNG\r\n\r\n--\u0000");
  expect([...(await file("disk file"))]).toEqual(Array.from({ length: 256 }, (_, n) => n));
}

describe("requests of the Python SDK are stored completely", () => {
  test("compressed by zstd, as one stream", async () => {
    const ours = await workspace();
    const request = recorded(zstdRequest);
    expect(request.headers.get("Content-Encoding")).toBe("zstd");
    await replay(request, ours);
    await expectTrace(ours, true);
  });

  test("uncompressed", async () => {
    const ours = await workspace();
    await replay(recorded(plainRequest), ours);
    await expectTrace(ours, true);
  });

  test("in a batch without files, for a server without multipart bodies", async () => {
    const ours = await workspace();
    const request = recorded(batchRequest);
    expect(request.path).toBe("/runs/batch");
    await replay(request, ours);
    await expectTrace(ours, false);
  });

  test("compressed by gzip", async () => {
    const ours = await workspace();
    const request = recorded(plainRequest);
    request.headers.set("Content-Encoding", "gzip");
    await replay({ ...request, body: gzipSync(request.body) }, ours);
    await expectTrace(ours, true);
  });

  test("in several zstd frames, with an empty one between them", async () => {
    const ours = await workspace();
    const request = recorded(zstdRequest);
    const body = zstdDecompressSync(request.body);
    const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    const frames = [body.subarray(0, 1000), body.subarray(1000, 1001), body.subarray(1001)].map(
      (piece) => zstdCompressSync(piece),
    );
    await replay({ ...request, body: Buffer.concat([skippable, ...frames, skippable]) }, ours);
    await expectTrace(ours, true);
  });

  test("twice, stored once", async () => {
    const ours = await workspace();
    for (const _ of [1, 2]) await replay(recorded(zstdRequest), ours);
    await expectTrace(ours, true);
  });
});
