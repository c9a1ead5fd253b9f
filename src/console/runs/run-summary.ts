import { type Fields, isFields, toJson } from "../ui/conversation/fields.ts";
import { messagesOf, toConversation } from "../ui/conversation/model.ts";

const MAX_TEXT = 120;

/** The input of a run in a line: its message, the answer that resumes, or its JSON. */
export function summaryOf({ kwargs }: { kwargs: Fields }): string {
  const { input, command } = kwargs;
  if (isFields(command) && "resume" in command) {
    return `answer ${toJson(command.resume)}`.slice(0, MAX_TEXT);
  }
  const text = toConversation(messagesOf(input) ?? []).at(-1)?.text;
  if (text) return `“${text.slice(0, MAX_TEXT)}”`;
  return input === null || input === undefined ? "continues" : toJson(input).slice(0, MAX_TEXT);
}
