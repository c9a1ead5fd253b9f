import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { isMessage, rememberTexts } from "./message-texts.ts";

const MESSAGES = { AIMessage, HumanMessage, SystemMessage, ToolMessage } as const;

type Fields = Record<string, unknown>;

/**
 * Parses what the checkpoint serializer wrote. Plain data and the common messages are made here:
 * the serializer's own way costs ten times as much for a long conversation.
 * Null: there is something in it that only the serializer can make.
 */
export function parseCheckpointJson(text: string): { value: unknown } | null {
  const foreign = { found: false };
  const value = revive(JSON.parse(text), foreign);
  return foreign.found ? null : { value };
}

function revive(value: unknown, foreign: { found: boolean }): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => revive(item, foreign));
  const record = value as Fields;
  for (const key of Object.keys(record)) {
    // Assigning to it would change the prototype.
    if (key === "__proto__") foreign.found = true;
    else record[key] = revive(record[key], foreign);
  }
  return isMarked(record) ? toMessage(record, foreign) : record;
}

function isMarked(record: Fields): boolean {
  return "lc" in record || "__lc_escaped__" in record;
}

function toMessage(record: Fields, foreign: { found: boolean }): unknown {
  const name = messageName(record);
  if (name) return newMessage(name, record.kwargs as Fields);
  foreign.found = true;
  return record;
}

function newMessage(name: keyof typeof MESSAGES, kwargs: Fields): unknown {
  const text = JSON.stringify(kwargs);
  const count = Object.keys(kwargs).length;
  const message = new MESSAGES[name](kwargs as never);
  // What the constructor adds, or the serializer would mark, is not in the text.
  const isWhole =
    count > 0 && Object.keys(message.lc_kwargs).length === count && !("type" in kwargs);
  if (!isWhole || !isMessage(message) || /"(lc|__lc_escaped__)":/.test(text)) return message;
  const id = `["langchain_core","messages","${name}"]`;
  rememberTexts(message, {
    checkpoint: `{"lc":1,"type":"constructor","id":${id},"kwargs":${text}}`,
    wire: `${text.slice(0, -1)},"type":"${message.getType()}"}`,
  });
  return message;
}

function messageName({ lc, type, id }: Fields): keyof typeof MESSAGES | null {
  if (lc !== 1 || type !== "constructor" || !Array.isArray(id) || id.length !== 3) return null;
  const [library, module, name] = id;
  if (library !== "langchain_core" || module !== "messages") return null;
  return Object.hasOwn(MESSAGES, name) ? (name as keyof typeof MESSAGES) : null;
}
