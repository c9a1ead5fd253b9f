/**
 * Loaded before the agent's modules, which may start timers, connect sockets and create clients of this server while
 * they load. The builder puts this first, and the entries of agents share its modules.
 */
import "../globals/sdk-logger.ts";

// biome-ignore lint/performance/noBarrelFile: the bundle of the shared modules, as one module of the agent's bundle
export { PendingWork, track } from "../globals/pending-work.ts";
export { withServer } from "../globals/server.ts";
export { asCall, Call } from "../tcp/calls.ts";
export { connectThroughEgress as connect } from "../tcp/sockets.ts";
