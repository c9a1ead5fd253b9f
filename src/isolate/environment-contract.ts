import type { AuthUser } from "./auth-contract.ts";

/** Agent server of this agent, for calls by its own code. */
export type Server = { fetch(request: Request): Promise<Response> };

/** Line that a run printed, sent before the run ends. `ms`: epoch milliseconds. */
export type EarlyLine = { key: string; level: string; message: string; ms: number };

/** A socket on the other side of the egress. */
export interface TcpSession extends Partial<Disposable> {
  /** @returns `null` at the end */
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  startTls(name: string | undefined): Promise<void>;
  close(): Promise<void>;
}

/** Opens sockets that may use TLS. The runtime offers TLS to no worker whose connections go through an egress. */
export interface TcpEgress {
  openTcp(address: string, isSecure: boolean): Promise<TcpSession>;
}

/** Begins the error that calls throw after a module of the agent did not load. */
export const LOAD_FAILED = "The agent could not be loaded:";

/** The binding of an isolate that is its `TcpEgress`. */
export const TCP_BINDING = "HEDDLE_TCP";

/** Props of an isolate's entrypoint, invisible to the agent. */
export type AgentProps = {
  /** A run prints each of its lines as this mark with the key of the line, and then the text. */
  line_mark: string;
  lines: { early(lines: EarlyLine[]): Promise<void> };
  /** Server of this agent, for calls by its own code. */
  server?: Server;
  /** Fallback routes and user of a request to the agent's HTTP app. */
  builtin?: Server;
  user?: AuthUser | null;
};
