import type { AgentUser, Caller } from "../../../shared/context.ts";
import type { EventFilter } from "./filter.ts";

/** Who reads and commands one thread, and what their request says that runs are told. */
export type Session = {
  caller: Caller;
  /** Whom the agent's own code has let in; null: it leaves that to the workspace. */
  user: AgentUser | null;
  deployment_id: string;
  thread_id: string;
  headers: Record<string, string>;
  origin: string;
  /** When who it is must be said again, in epoch milliseconds; null: a key is good until it is taken back. */
  expires_at: number | null;
};

/** Why one may not; the status is that of HTTP. */
export type Refused = { status: number; message: string };

export type Subscription = EventFilter & {
  id: string;
  /** What it was sent when it began. */
  since: number;
};

/** Kept with a socket while its object sleeps. */
export type Attachment = {
  session: Session;
  subscriptions: Subscription[];
  /** The number of the next one. */
  next: number;
  /** What all of them were sent. */
  since: number;
};

const SESSION_HEADER = "Heddle-Session";

export function socketHeaders(session: Session): Record<string, string> {
  const text = encodeURIComponent(JSON.stringify(session));
  return { Upgrade: "websocket", [SESSION_HEADER]: text };
}

export function sessionOf(request: Request): Session {
  const text = request.headers.get(SESSION_HEADER) ?? "";
  return JSON.parse(decodeURIComponent(text)) as Session;
}
