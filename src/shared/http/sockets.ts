import { decodeText } from "../crypto/encoding.ts";

const SUBPROTOCOL = "heddle";
const CREDENTIAL = "heddle.auth.";
const PROTOCOLS = "Sec-WebSocket-Protocol";
// A close frame has 123 bytes for its reason.
const REASON_CHARACTERS = 100;

export function isUpgrade(request: Request): boolean {
  return request.headers.get("Upgrade")?.toLowerCase() === "websocket";
}

/**
 * Moves the credential of the subprotocol `heddle.auth.<base64url>` into the header `Authorization`, unless the request
 * has another credential: browsers can set no other header of a WebSocket. No code of an agent sees the subprotocol.
 */
export function withCredential(request: Request): Request {
  const names = subprotocolsOf(request);
  const given = names.find((name) => name.startsWith(CREDENTIAL));
  if (given === undefined) return request;
  const headers = new Headers(request.headers);
  headers.delete(PROTOCOLS);
  const others = names.filter((name) => !name.startsWith(CREDENTIAL));
  if (others.length > 0) headers.set(PROTOCOLS, others.join(", "));
  const credential = decode(given.slice(CREDENTIAL.length));
  const hasOther = headers.has("X-Api-Key") || headers.has("Authorization");
  if (credential !== null && !hasOther) headers.set("Authorization", `Bearer ${credential}`);
  return new Request(request, { headers });
}

/** Returns the response with the client's half of a socket. Browsers require one of the subprotocols that they named. */
export function socketResponse(request: Request, webSocket: WebSocket): Response {
  const isOffered = subprotocolsOf(request).includes(SUBPROTOCOL);
  const headers = isOffered ? { [PROTOCOLS]: SUBPROTOCOL } : undefined;
  return new Response(null, { status: 101, webSocket, ...(headers && { headers }) });
}

/** Returns a socket that closes with the reason: browsers do not show a refused handshake. */
export function refusedSocket(request: Request, status: number, message: string): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.close(4000 + status, closeReason(message));
  return socketResponse(request, client);
}

/** Returns whether a close code can be sent: some only describe how a socket ended. */
export function isSendable(code: number): boolean {
  return code !== 1005 && code !== 1006 && code !== 1015;
}

export function closeReason(message: string): string {
  return message.replace(/[^\x20-\x7e]/g, "?").slice(0, REASON_CHARACTERS);
}

function subprotocolsOf({ headers }: Request): string[] {
  const names = headers.get(PROTOCOLS)?.split(",") ?? [];
  return names.map((name) => name.trim());
}

function decode(credential: string): string | null {
  const text = decodeText(credential, "base64url");
  return /^[\x21-\x7e]+$/.test(text) ? text : null;
}
