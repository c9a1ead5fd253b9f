import type { WireCommand } from "../../../isolate/contract.ts";
import { isRecord } from "../../../shared/guards.ts";

/** Format of an interrupt's id: a hash of the namespace of the interrupted task, by LangGraph. */
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** @returns the ids of the interrupts that a command resumes by id, `null` when its `resume` is not keyed by ids */
export function resumedInterrupts(command: WireCommand | null | undefined): string[] | null {
  const resume = command?.resume;
  const ids = isRecord(resume) ? Object.keys(resume) : [];
  return ids.length > 0 && ids.every((id) => INTERRUPT_ID.test(id)) ? ids : null;
}
