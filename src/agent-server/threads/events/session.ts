import type { AgentUser, Caller } from "../../../shared/context.ts";
import type { EventFilter } from "./filter.ts";

/** Caller of a connection to one thread, with the fields of its request that runs use. */
export type EventSession = {
  caller: Caller;
  /** User of the agent, `null` when the workspace authenticates. */
  user: AgentUser | null;
  deployment_id: string;
  thread_id: string;
  headers: Record<string, string>;
  origin: string;
  /** Expiry of the authentication in epoch milliseconds, `null` for keys, which are valid until revoked. */
  expires_at: number | null;
};

/** `status` is an HTTP status. */
export type SessionRefusal = { status: number; message: string };

export type Subscription = EventFilter & {
  id: string;
  /** Sequence number up to which the events were sent. Above all others while the log is replayed. */
  since: number;
};

/** State of a socket that survives hibernation. */
export type Attachment = {
  session: EventSession;
  subscriptions: Subscription[];
  /** Number of the next subscription. */
  next: number;
  /** Sequence number up to which all subscriptions are current. */
  since: number;
};

const SESSION_HEADER = "Heddle-Session";
/** Header of a request to a shared object, which may have another thread. */
const SHARED_HEADER = "Heddle-Shared";
const MISDIRECTED = 421;

export function socketHeaders(session: EventSession, isShared: boolean): Record<string, string> {
  const text = encodeURIComponent(JSON.stringify(session));
  return {
    Upgrade: "websocket",
    [SESSION_HEADER]: text,
    ...(isShared && { [SHARED_HEADER]: "1" }),
  };
}

export function isToShared(request: Request): boolean {
  return request.headers.has(SHARED_HEADER);
}

/** Response of an object that does not have the thread of the session. */
export function elsewhereResponse(): Response {
  return new Response(null, { status: MISDIRECTED });
}

export function isElsewhere({ status }: Response): boolean {
  return status === MISDIRECTED;
}

export function sessionOf(request: Request): EventSession {
  const text = request.headers.get(SESSION_HEADER) ?? "";
  return JSON.parse(decodeURIComponent(text)) as EventSession;
}
