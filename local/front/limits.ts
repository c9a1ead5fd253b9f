import { readFileSync } from "node:fs";

/** Bounds of what clients hold of one machine. */
export type Limits = {
  connections: number;
  /** Connections of one address, except proxies on this machine. */
  connections_per_address: number;
  header_bytes: number;
  /** Time for the headers of a request, also of a connection that sends nothing. */
  header_ms: number;
  /** Time for the body of a request without credentials. */
  anonymous_body_ms: number;
  /** Time between two chunks of any other body. */
  body_gap_ms: number;
  /** Bodies up to this size reach the Worker only when they are whole. */
  collected_bytes: number;
  /** Total of all bodies that are being collected, with their headers. */
  all_collected_bytes: number;
  /** Open requests of a caller whose bodies were larger than `collected_bytes`. */
  uploads_per_caller: number;
  /** Requests and sockets of a caller, streams included. */
  requests_per_caller: number;
  /** Time without progress after which a response ends because its reader takes nothing. */
  stalled_ms: number;
  /** Time for which a request waits for a Worker that restarts. */
  restart_ms: number;
};

const KB = 1024;
const MB = 1024 * KB;
const MAX_CONNECTIONS = 10_000;
/** A connection has a descriptor, and another one to the Worker. The rest of the stack needs some too. */
const OWN_DESCRIPTORS = 512;

export const LIMITS: Limits = {
  connections: Math.min(MAX_CONNECTIONS, Math.floor((readOpenFiles() - OWN_DESCRIPTORS) / 2)),
  connections_per_address: 1000,
  // The limit of Cloudflare.
  header_bytes: 128 * KB,
  header_ms: 30_000,
  anonymous_body_ms: 10_000,
  body_gap_ms: 30_000,
  collected_bytes: 64 * KB,
  all_collected_bytes: 64 * MB,
  uploads_per_caller: 64,
  requests_per_caller: 2000,
  stalled_ms: 60_000,
  restart_ms: 30_000,
};

/** Returns the limit of open files of this process, or an assumed limit on systems other than Linux. */
function readOpenFiles(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return Number(soft ?? Number.POSITIVE_INFINITY);
  } catch {
    return 2 * MAX_CONNECTIONS;
  }
}
