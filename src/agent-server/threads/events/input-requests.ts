import { isRecord } from "../../../shared/guards.ts";
import type { RowEvents } from "./event.ts";

/** Events of the channel `input`: each interrupt of a run is requested once. */
export class InputRequests {
  readonly #requested = new Set<string>();

  /** Requests the interrupts in the text of values or updates. */
  requestFrom(namespace: string[], text: string, events: RowEvents) {
    this.request(namespace, interruptsIn(text), events);
  }

  request(
    namespace: string[],
    interrupts: PendingInterrupt[],
    events: RowEvents,
    stage: "requested" | "requested_at_end" = "requested",
  ) {
    for (const { id, value } of interrupts) {
      if (this.#requested.has(id)) continue;
      this.#requested.add(id);
      const data = JSON.stringify({ interrupt_id: id, payload: value });
      events.add(stage, { method: "input.requested", channel: "input", namespace, data });
    }
  }
}

export type PendingInterrupt = { id: string; value: unknown };

/** Returns the interrupts in a row of values or updates. */
export function interruptsIn(text: string): PendingInterrupt[] {
  // Cheap test before parsing: quotes within strings are escaped.
  if (!text.includes('"__interrupt__":[{')) return [];
  const { __interrupt__ } = JSON.parse(text) as { __interrupt__?: unknown };
  return toPendingInterrupts(__interrupt__);
}

export function toPendingInterrupts(interrupts: unknown): PendingInterrupt[] {
  if (!Array.isArray(interrupts)) return [];
  return interrupts.flatMap((interrupt: unknown) =>
    isRecord(interrupt) && typeof interrupt.id === "string"
      ? [{ id: interrupt.id, value: interrupt.value ?? null }]
      : [],
  );
}
