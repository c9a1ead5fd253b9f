// Texts of HTTP between the two connections of a request: headers, and refusals of the front itself.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { clientAddress } from "./callers.ts";

export type Refusal = { status: number; detail: string };

/** Headers that belong to one connection. */
const HOP_BY_HOP = [
  "connection",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
];

export function withoutHopByHop(raw: readonly string[]): string[] {
  const named = raw.flatMap((value, index) =>
    index % 2 === 0 && value.toLowerCase() === "connection"
      ? (raw[index + 1] ?? "").split(",")
      : [],
  );
  const dropped = new Set([...HOP_BY_HOP, ...named.map((name) => name.trim().toLowerCase())]);
  // Kept even if `Connection` names it: without a length, the body would be read as the next request.
  dropped.delete("content-length");
  return raw.filter((_, index) => {
    const name = raw[index - (index % 2)] ?? "";
    return !dropped.has(name.toLowerCase());
  });
}

/**
 * Sets CF-Connecting-IP, by which the Worker counts callers without a key. Only a proxy on this machine may send it.
 */
export function setClient(headers: string[], { headers: sent, socket }: IncomingMessage): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at]?.toLowerCase() === "cf-connecting-ip") headers.splice(at, 2);
  }
  headers.push("CF-Connecting-IP", clientAddress(sent["cf-connecting-ip"], socket.remoteAddress));
}

/** Closes the connection: the rest of the request is not read. */
export function refuse(response: ServerResponse, { status, detail }: Refusal): void {
  const headers = { "content-type": "application/json", connection: "close", "retry-after": "1" };
  response.writeHead(status, headers).end(JSON.stringify({ detail }));
}

/** Answers, and reads the rest of the request: a client that still sends would otherwise lose its connection. */
export function answerUnread(
  incoming: IncomingMessage,
  response: ServerResponse,
  { status, detail }: Refusal,
): void {
  incoming.unpipe().resume();
  const headers = { "content-type": "application/json", "retry-after": "1" };
  response.writeHead(status, headers).end(JSON.stringify({ detail }));
}

export function refuseSocket(socket: Duplex, { status, detail }: Refusal): void {
  const body = JSON.stringify({ detail });
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

const BROKEN: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    detail: "The headers are too large: send fewer or smaller ones.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    detail: "The headers did not arrive in time: send the request at once.",
  },
};
const MALFORMED: Refusal = { status: 400, detail: "The request is not valid HTTP." };

/**
 * A connection that has sent nothing has no request: its client would take a refusal for the answer to the next one.
 */
export function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  const isUnused = socket.bytesRead === 0;
  if (error.code === "ECONNRESET" || isUnused || !socket.writable) return void socket.destroy();
  refuseSocket(socket, BROKEN[error.code ?? ""] ?? MALFORMED);
}

export function headOf(
  { statusCode, statusMessage }: IncomingMessage,
  raw: string[],
  ...more: string[]
) {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at < raw.length; at += 2) lines.push(`${raw[at]}: ${raw[at + 1]}`);
  return `${[...lines, ...more].join("\r\n")}\r\n\r\n`;
}
