import type { ClientRequest, IncomingMessage } from "node:http";
import type { Caller } from "./callers.ts";
import type { Limits } from "./limits.ts";
import type { Refusal } from "./wire.ts";

/** The beginning of a body, or all of it. */
export type BodyStart = {
  chunks: Buffer[];
  bytes: number;
  is_whole: boolean;
  /** Passes on the rest. */
  resume(outgoing: ClientRequest): void;
};

const LATE: Refusal = { status: 408, detail: "The body did not arrive in time: send it at once." };
const FULL: Refusal = { status: 503, detail: "Too many bodies arrive at once. Retry in a moment." };

export function isRefusal(body: BodyStart | Refusal): body is Refusal {
  return "status" in body;
}

/**
 * Resolves with a body when it is whole, or larger than `collected_bytes`. Resolves with a refusal when the body is
 * late or all bodies are too large together. `all` counts the bytes of all bodies that are being collected, with their
 * headers.
 */
export function collectBody(
  incoming: IncomingMessage,
  { is_anonymous }: Caller,
  limits: Limits,
  all: { bytes: number },
): Promise<BodyStart | Refusal> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const header_bytes = incoming.rawHeaders.reduce((sum, { length }) => sum + length, 0);
  all.bytes += header_bytes;
  const wait_ms = is_anonymous ? limits.anonymous_body_ms : limits.body_gap_ms;
  return new Promise((resolve) => {
    const settle = (result: BodyStart | Refusal) => {
      clearTimeout(timer);
      incoming.off("data", collect).off("end", end).off("close", leave);
      all.bytes -= header_bytes + bytes;
      resolve(result);
    };
    const end = () => settle(collected(true));
    const leave = () => settle(LATE);
    const timer = setTimeout(() => settle(LATE), wait_ms);
    const collect = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      all.bytes += chunk.byteLength;
      if (!is_anonymous) timer.refresh();
      if (all.bytes > limits.all_collected_bytes) return settle(FULL);
      if (bytes <= limits.collected_bytes) return;
      incoming.pause();
      settle(collected(false));
    };
    const collected = (is_whole: boolean): BodyStart => ({
      ...{ chunks, bytes, is_whole },
      resume: (outgoing) => passRest(incoming, outgoing, wait_ms),
    });
    incoming.on("data", collect).once("end", end).once("close", leave);
  });
}

/** Passes on the rest of a body. A client that sends nothing for long loses its connection. */
function passRest(incoming: IncomingMessage, outgoing: ClientRequest, gap_ms: number): void {
  const timer = setTimeout(() => {
    // Backpressure of the Worker is not the client's fault.
    if (outgoing.writableNeedDrain) timer.refresh();
    else incoming.destroy();
  }, gap_ms);
  incoming.on("data", () => timer.refresh());
  incoming.once("close", () => clearTimeout(timer));
  incoming.pipe(outgoing);
}
