import type { WireCommand } from "../../../isolate/contract.ts";
import { isRecord } from "../../../shared/guards.ts";

/** Hash that LangGraph makes of the task that waits. */
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** @returns the interrupts that a command answers by id, `null` when it names none */
export function resumedInterrupts(command: WireCommand | null | undefined): string[] | null {
  const resume = command?.resume;
  const ids = isRecord(resume) ? Object.keys(resume) : [];
  return ids.length > 0 && ids.every((id) => INTERRUPT_ID.test(id)) ? ids : null;
}
