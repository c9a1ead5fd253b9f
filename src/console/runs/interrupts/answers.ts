import { type Fields, isFields, toJson } from "../../ui/conversation/fields.ts";
import { cutText } from "../../ui/formats.ts";
import type { InterruptRequest } from "./interrupts.ts";

const MAX_TEXT = 120;

/** Words for the types of decisions, in all shapes of answers. */
const WORDS: Record<string, string> = {
  approve: "approved",
  accept: "approved",
  edit: "edited",
  reject: "rejected",
  ignore: "ignored",
  respond: "answered",
  response: "answered",
};

/** Ids of interrupts: a hash, or a UUID of earlier versions of LangGraph. */
const INTERRUPT_ID = /^[0-9a-f]{32}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns what a person answered, such as `approved refund_order`.
 * @param requests the interrupts that the page knows, which name the tools
 * @returns `null` for a run that does not resume an interrupt
 */
export function answerText({ command }: Fields, requests: InterruptRequest[]): string | null {
  if (!isFields(command) || !("resume" in command)) return null;
  return cutText(resumeText(command.resume, requests), MAX_TEXT);
}

function resumeText(resume: unknown, requests: InterruptRequest[]): string {
  const answers = isFields(resume) ? Object.entries(resume) : [];
  if (answers.length === 0 || !answers.every(([id]) => INTERRUPT_ID.test(id))) {
    return givenText(resume, undefined);
  }
  const requestOf = (wanted: string) => requests.find(({ id }) => id === wanted);
  return answers.map(([id, given]) => givenText(given, requestOf(id))).join("; ");
}

function givenText(given: unknown, request: InterruptRequest | undefined): string {
  const decisions = decisionsIn(given);
  if (decisions === null) {
    return `answered ${typeof given === "string" ? `“${given}”` : toJson(given)}`;
  }
  return decisions
    .map((decision, at) => decisionText(decision, request?.actions[at]?.name ?? ""))
    .join(", ");
}

function decisionsIn(given: unknown): Fields[] | null {
  const list = isFields(given) ? given.decisions : given;
  if (!Array.isArray(list) || list.length === 0) return null;
  const isDecision = (each: unknown) => isFields(each) && Object.hasOwn(WORDS, String(each.type));
  return list.every(isDecision) ? list : null;
}

function decisionText({ type, message, args, ...rest }: Fields, name: string): string {
  const edited = rest.edited_action ?? rest.editedAction ?? args;
  const tool = name || (isFields(edited) ? String(edited.name ?? edited.action ?? "") : "");
  const text = message ?? args;
  const reason = typeof text === "string" && text !== "" ? `: “${text}”` : "";
  return `${WORDS[String(type)]}${tool && ` ${tool}`}${reason}`;
}
