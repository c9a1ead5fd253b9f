/** Maximum subscriptions of a socket. They are stored in its attachment. */
export const MAX_SUBSCRIPTIONS = 64;
/** Maximum sockets of a thread. */
export const MAX_SOCKETS = 256;
/** Maximum characters of a command sent to a socket. HTTP bodies may have as many bytes. */
export const MAX_COMMAND_CHARACTERS = 10 * 1024 * 1024;
/** Limits of a filter, which is matched with every event. */
export const MAX_CHANNELS = 64;
export const MAX_NAMESPACES = 64;
export const MAX_NAMESPACE_DEPTH = 32;
/** Age from which the access check of a reader is repeated before it receives further events. */
export const RECHECK_MS = 60_000;
/**
 * Replays up to this size are read before the response to `subscription.subscribe`: it then has the number of events.
 */
export const COUNTED_CHARACTERS = 4 * 1024 * 1024;
/** Maximum JSON of a socket's attachment. workerd stores at most 16 KiB, in a format that may be longer than JSON. */
export const MAX_ATTACHMENT_BYTES = 12 * 1024;
/**
 * Time after a subscription in which the end of a run is held back, so that the client can subscribe to more channels:
 * clients close all subscriptions at that event.
 */
export const SETTLE_MS = 300;
/** Maximum characters sent to a socket within a minute, because sockets have no backpressure. */
export const MAX_SOCKET_CHARACTERS = 64 * 1024 * 1024;
