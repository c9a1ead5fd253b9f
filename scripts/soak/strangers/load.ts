// The load of strangers and of a hostile tenant: loops that run at the same time until they are aborted.
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import type { StackInfo } from "../../../local/stack.ts";
import { type ControlPlane, connect as controlPlane } from "../../demo/control-plane.ts";
import type { Random } from "../random.ts";
import { pause } from "../server.ts";
import { HALF_REQUESTS } from "./half-requests.ts";
import { startSilentServer } from "./silent-server.ts";

/** Another address than that of the honest tenants, because limits count by address. */
const STRANGER_ADDRESS = "127.0.0.9";
/** Maximum number of open connections of each kind. */
const HALF_REQUEST_CONNECTIONS = 900;
const SLOW_CONNECTIONS = 100;
const UNREAD_STREAMS = 40;
const SLOW_BODY = JSON.stringify({ api_key: "x".repeat(300) });
const SLOW_REQUEST = [
  "POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
  `Content-Length: ${SLOW_BODY.length}\r\n\r\n${SLOW_BODY}`,
].join("");
const ZERO_BYTES = 200 * 1024 * 1024;
const DEEP_JSON = "[".repeat(2_000_000);

export type Target = {
  info: StackInfo;
  deployment_id: string;
  random: Random;
  signal: AbortSignal;
};
type Counts = Record<string, number>;

/** Starts all loads. @returns the number of requests by kind and by the status of the answer */
export function startLoad(target: Target): { counts: Counts; ended: Promise<unknown> } {
  const counts: Counts = {};
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  const loads = [
    ...[sendHalfRequests, sendSlowRequests, openUnreadStreams, sendWrongKeys, sendBombs],
    ...[startRuns, startWebhooks, startBuilds],
  ];
  return { counts, ended: Promise.all(loads.map((load) => load(target, count))) };
}

type Count = (kind: string) => void;

/** Opens connections with the first part of a request, and never sends the rest. */
async function sendHalfRequests({ info, random, signal }: Target, count: Count): Promise<void> {
  const open: Socket[] = [];
  while (!signal.aborted) {
    for (let n = 0; n < 50; n++) {
      const [, bytes = ""] = HALF_REQUESTS[random.upTo(HALF_REQUESTS.length - 1)] ?? [];
      open.push(dial(info, bytes));
      count("half-sent requests");
    }
    for (const old of open.splice(0, Math.max(0, open.length - HALF_REQUEST_CONNECTIONS)))
      old.destroy();
    await pause(500);
  }
  for (const socket of open) socket.destroy();
}

/** Sends whole requests at one byte a second. */
async function sendSlowRequests({ info, signal }: Target, count: Count): Promise<void> {
  const sendSlowly = async () => {
    const socket = dial(info, "");
    count("requests of a byte a second");
    for (const byte of SLOW_REQUEST) {
      if (signal.aborted || socket.destroyed) break;
      socket.write(byte);
      await pause(1000);
    }
    socket.destroy();
  };
  const lane = async () => {
    while (!signal.aborted) await sendSlowly();
  };
  await Promise.all(Array.from({ length: SLOW_CONNECTIONS }, lane));
}

/** Opens streams of events, and reads none of them. */
async function openUnreadStreams(
  { info, deployment_id, signal }: Target,
  count: Count,
): Promise<void> {
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
    for (const old of open.splice(0, Math.max(0, open.length - UNREAD_STREAMS))) old.destroy();
    await pause(1000);
  }
  for (const socket of open) socket.destroy();
}

async function sendWrongKeys({ info, random, signal }: Target, count: Count): Promise<void> {
  while (!signal.aborted) {
    const key = `lsv2_sk_${random.upTo(2 ** 31)}`;
    count(`wrong keys: ${await statusOf({ ...info, api_key: key }, "/v2/deployments")}`);
    await pause(50);
  }
}

/** Sends small bodies that unpack to large ones, and deeply nested JSON. */
async function sendBombs({ info, random, signal }: Target, count: Count): Promise<void> {
  const zeros = gzipSync(Buffer.alloc(ZERO_BYTES));
  while (!signal.aborted) {
    const isZipped = random.chance(0.5);
    const headers: Record<string, string> = isZipped ? { "Content-Encoding": "gzip" } : {};
    const body = isZipped ? zeros : DEEP_JSON;
    count(`bombs: ${await statusOf(info, "/api/v1/runs/batch", { body, headers })}`);
    await pause(500);
  }
}

/** Starts runs that compute, and runs that allocate until their process ends. */
async function startRuns(
  { info, deployment_id, random, signal }: Target,
  count: Count,
): Promise<void> {
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

async function startWebhooks({ info, deployment_id, signal }: Target, count: Count): Promise<void> {
  const receiver = await startSilentServer();
  const run = { assistant_id: "echo", input: { n: 0 }, webhook: receiver.url };
  while (!signal.aborted) {
    const body = JSON.stringify(run);
    count(`webhooks: ${await statusOf(info, `/agents/${deployment_id}/runs`, { body })}`);
    await pause(1000);
  }
  receiver.close();
}

async function startBuilds({ info, signal }: Target, count: Count): Promise<void> {
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
  const socket = connect({ host: hostname, port: Number(port), localAddress: STRANGER_ADDRESS });
  socket.on("error", () => socket.destroy());
  socket.resume();
  if (bytes !== "") socket.write(bytes);
  return socket;
}

type RequestOptions = { body?: string | Buffer; headers?: Record<string, string> };

/** @returns the status of the answer, 0 when there was none */
async function statusOf(
  { base_url, api_key }: StackInfo,
  path: string,
  { body, headers }: RequestOptions = {},
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
