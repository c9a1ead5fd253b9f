/** Subscriptions of one socket, which are stored in its attachment. */
export const MAX_SUBSCRIPTIONS = 64;
/** Sockets of one thread. */
export const MAX_SOCKETS = 256;
/** Equals the limit of HTTP bodies. */
export const MAX_COMMAND_CHARACTERS = 10 * 1024 * 1024;
/** Filters are matched with every event. */
export const MAX_CHANNELS = 64;
export const MAX_NAMESPACES = 64;
export const MAX_NAMESPACE_DEPTH = 32;
/** Interval of access checks, before an event is sent. */
export const RECHECK_MS = 60_000;
/** Replays up to this size are counted in the response to the subscription. */
export const COUNTED_CHARACTERS = 4 * 1024 * 1024;
/** Size as JSON. workerd stores at most 16 KiB with a socket, in a format that may be longer. */
export const MAX_ATTACHMENT_BYTES = 12 * 1024;
/**
 * Time to subscribe to more channels before the end of a run is sent: clients close all subscriptions at that
 * event.
 */
export const SETTLE_MS = 300;
/** Maximum characters sent to a socket within a minute: sockets have no backpressure. A whole run fits. */
export const MAX_SOCKET_CHARACTERS = 64 * 1024 * 1024;
