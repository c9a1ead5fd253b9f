/** What one socket may subscribe to at a time; what it needs is kept with it while its object sleeps. */
export const MAX_SUBSCRIPTIONS = 64;
/** Sockets that watch one thread. */
export const MAX_SOCKETS = 256;
/** A command over a socket; over HTTP a body may be as large. */
export const MAX_COMMAND_CHARACTERS = 10 * 1024 * 1024;
/** Filters are matched with every event. */
export const MAX_CHANNELS = 64;
export const MAX_NAMESPACES = 64;
export const MAX_NAMESPACE_DEPTH = 32;
/** Whether who follows a thread may still read it is asked again this often, before something is sent. */
export const RECHECK_MS = 60_000;
/** Of a replay that fits, the answer to its subscription says how many events it has. */
export const COUNTED_CHARACTERS = 4 * 1024 * 1024;
/** As JSON. workerd keeps 16 KiB with a socket, in its own form, which may be longer. */
export const MAX_ATTACHMENT_BYTES = 12 * 1024;
/**
 * A client asks for one thing after the other, and stops listening to all of them at the end of a run: a reader
 * that has just come is told of it when there was time to ask for the rest.
 */
export const SETTLE_MS = 300;
/** Characters of events that a socket is sent within a minute: it has no backpressure. A whole run fits. */
export const MAX_SOCKET_CHARACTERS = 64 * 1024 * 1024;
