// The load of strangers and of a hostile tenant: loops that run beside each other until they are aborted.
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import type { StackInfo } from "../../../local/stack.ts";
import { type ControlPlane, connect as controlPlane } from "../../demo/control-plane.ts";
import type { Random } from "../random.ts";
import { pause } from "../server.ts";
import { HALF_REQUESTS } from "./half-requests.ts";
import { startSilentServer } from "./silent-server.ts";

/** Not the address of the honest tenants: limits are of an address. */
const STRANGER = "127.0.0.9";
const CONNECTIONS = 900;
const DRIPPING = 100;
const READERS = 40;
const SLOW_BODY = JSON.stringify({ api_key: "x".repeat(300) });
const SLOW = [
  "POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
  `Content-Length: ${SLOW_BODY.length}\r\n\r\n${SLOW_BODY}`,
].join("");
const ZEROS = 200 * 1024 * 1024;
const DEEP = "[".repeat(2_000_000);

export type Target = {
  info: StackInfo;
  deployment_id: string;
  random: Random;
  signal: AbortSignal;
};
type Counts = Record<string, number>;

/** Starts all of it. @returns counts of what was sent, by kind and by the status of its answer */
export function startLoad(target: Target): { counts: Counts; ended: Promise<unknown> } {
  const counts: Counts = {};
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const work = [halves, drips, readers, wrongKeys, bombs, runs, webhooks, builds];
  return { counts, ended: Promise.all(work.map((each) => each(target, count))) };
}

type Count = (what: string) => void;

/** Requests that never become whole. */
async function halves({ info, random, signal }: Target, count: Count): Promise<void> {
  const open: Socket[] = [];
  while (!signal.aborted) {
    for (let n = 0; n < 50; n++) {
      open.push(dial(info, HALF_REQUESTS[random.upTo(HALF_REQUESTS.length - 1)]?.[1] ?? ""));
      count("half-sent requests");
    }
    for (const old of open.splice(0, Math.max(0, open.length - CONNECTIONS))) old.destroy();
    await pause(500);
  }
  for (const socket of open) socket.destroy();
}

/** Whole requests, a byte a second. */
async function drips({ info, signal }: Target, count: Count): Promise<void> {
  const drip = async () => {
    const socket = dial(info, "");
    count("requests of a byte a second");
    for (const byte of SLOW) {
      if (signal.aborted || socket.destroyed) break;
      socket.write(byte);
      await pause(1000);
    }
    socket.destroy();
  };
  const lane = async () => {
    while (!signal.aborted) await drip();
  };
  await Promise.all(Array.from({ length: DRIPPING }, lane));
}

/** Streams without a reader. */
async function readers({ info, deployment_id, signal }: Target, count: Count): Promise<void> {
  const body = JSON.stringify({ assistant_id: "flood", input: {} });
  const request = [
    `POST /agents/${deployment_id}/runs/stream HTTP/1.1`,
    ...["Host: x", `X-Api-Key: ${info.api_key}`, "Content-Type: application/json"],
    `Content-Length: ${body.length}`,
  ].join("\r\n");
  const open: Socket[] = [];
  while (!signal.aborted) {
    const socket = dial(info, `${request}\r\n\r\n${body}`);
    socket.pause();
    open.push(socket);
    count("streams that are not read");
    for (const old of open.splice(0, Math.max(0, open.length - READERS))) old.destroy();
    await pause(1000);
  }
  for (const socket of open) socket.destroy();
}

async function wrongKeys({ info, random, signal }: Target, count: Count): Promise<void> {
  while (!signal.aborted) {
    const key = `lsv2_sk_${random.upTo(2 ** 31)}`;
    count(`wrong keys: ${await statusOf({ ...info, api_key: key }, "/v2/deployments")}`);
    await pause(50);
  }
}

/** Bodies that are much larger than they look, and deep ones. */
async function bombs({ info, random, signal }: Target, count: Count): Promise<void> {
  const zeros = gzipSync(Buffer.alloc(ZEROS));
  while (!signal.aborted) {
    const isZipped = random.chance(0.5);
    const headers: Record<string, string> = isZipped ? { "Content-Encoding": "gzip" } : {};
    const body = isZipped ? zeros : DEEP;
    count(`bombs: ${await statusOf(info, "/api/v1/runs/batch", { body, headers })}`);
    await pause(500);
  }
}

/** Runs that compute, and runs that allocate until their process ends. */
async function runs({ info, deployment_id, random, signal }: Target, count: Count): Promise<void> {
  const lane = async () => {
    while (!signal.aborted) {
      const assistant_id = random.chance(0.1) ? "hoard" : "spin";
      const body = JSON.stringify({ assistant_id, input: {} });
      const status = await statusOf(info, `/agents/${deployment_id}/runs/wait`, { body });
      count(`runs of ${assistant_id}: ${status}`);
      await pause(200);
    }
  };
  await Promise.all([lane(), lane()]);
}

async function webhooks({ info, deployment_id, signal }: Target, count: Count): Promise<void> {
  const receiver = await startSilentServer();
  const run = { assistant_id: "echo", input: { n: 0 }, webhook: receiver.url };
  while (!signal.aborted) {
    const body = JSON.stringify(run);
    count(`webhooks: ${await statusOf(info, `/agents/${deployment_id}/runs`, { body })}`);
    await pause(1000);
  }
  receiver.close();
}

async function builds({ info, signal }: Target, count: Count): Promise<void> {
  const host = await startSilentServer();
  const control: ControlPlane = controlPlane(info);
  for (let n = 0; !signal.aborted; n++) {
    await control.create(`silent-${n}`, `${host.url}/owner/repository-${n}`);
    count("builds of a silent host");
    await pause(5000);
  }
  host.close();
}

function dial({ base_url }: StackInfo, bytes: string): Socket {
  const { hostname, port } = new URL(base_url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: STRANGER });
  socket.on("error", () => socket.destroy());
  socket.resume();
  if (bytes !== "") socket.write(bytes);
  return socket;
}

type Sent = { body?: string | Buffer; headers?: Record<string, string> };

/** @returns the status of the answer, 0 when there was none */
async function statusOf(
  { base_url, api_key }: StackInfo,
  path: string,
  { body, headers }: Sent = {},
): Promise<number> {
  try {
    const response = await fetch(base_url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "X-Api-Key": api_key, "Content-Type": "application/json", ...headers },
      ...(body !== undefined && { body }),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
