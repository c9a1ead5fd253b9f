// Prints JSON lines: the memory of the Worker's isolate while clients send large bodies of traces at once.
// The platform ends an isolate beyond 128 MB. Usage: npm run bench:memory -- [--clients 16] [--bodies 32]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../local/processes/ports.ts";
import { startStack } from "../local/stack.ts";
import { readOptions } from "../scripts/options.ts";
import { type Inspector, inspect, liveHeap, watchHeap } from "./inspector.ts";
import { type Body, batchBody, multipartBody } from "./trace-bodies.ts";

const { values } = readOptions({
  clients: { type: "string", default: "16" },
  bodies: { type: "string", default: "32" },
});
const CLIENTS = Number(values.clients);
const BODIES = Number(values.bodies);
const MAX_TRIES = 50;

const SHAPES = [
  { name: "batches of 20 MB", body: batchBody("memory", 1000, 20_000) },
  { name: "batches of 4 MB", body: batchBody("memory", 200, 20_000) },
  { name: "multipart of 20 MB", body: multipartBody("memory", 1000, 20_000) },
];

const dir = await mkdtemp(join(tmpdir(), "heddle-bench-memory-"));
const inspector_port = await freePort();
const stack = await startStack({ dir, quiet: true, inspector_port });
try {
  const inspector = await inspect(inspector_port);
  console.log(JSON.stringify({ shape: "at rest", heap: await liveHeap(inspector) }));
  for (const shape of SHAPES) console.log(JSON.stringify(await measure(inspector, shape)));
  inspector.close();
} finally {
  await stack.stop();
  await rm(dir, { recursive: true, force: true });
}

async function measure(inspector: Inspector, { name, body }: { name: string; body: Body }) {
  const heap = watchHeap(inspector);
  let [left, refused] = [BODIES, 0];
  const start = performance.now();
  const client = async () => {
    while (left-- > 0) refused += await sendUntilStored(body);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const seconds = (performance.now() - start) / 1000;
  const mb_per_s = Math.round((BODIES * body.bytes.length) / 1e6 / seconds);
  return { shape: name, clients: CLIENTS, refused, mb_per_s, peak: heap.stop() };
}

/** @returns number of answers that were 503 */
async function sendUntilStored({ path, type, bytes }: Body): Promise<number> {
  const headers = { "X-Api-Key": stack.info.api_key, "Content-Type": type };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const url = `${stack.info.base_url}${path}`;
    const response = await fetch(url, { method: "POST", headers, body: bytes });
    const text = await response.text();
    if (response.status === 202) return tries;
    if (response.status !== 503) throw new Error(`${response.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, retryAfterMs(response)));
  }
  throw new Error(`${MAX_TRIES} tries were refused`);
}

function retryAfterMs(response: Response): number {
  return Number(response.headers.get("Retry-After") ?? 1) * 1000;
}
