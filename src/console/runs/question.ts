import { cutText } from "../ui/formats.ts";

const MAX_TEXT = 200;

/**
 * Returns a line for the first interrupt: the tool that it would call with its arguments, its text, or its JSON. Agents
 * choose any shape.
 */
export function questionOf(interrupts: unknown): string {
  const first = Object.values(Object(interrupts) as Record<string, unknown>).flat()[0];
  const value: unknown = fieldOf(first, "value") ?? first;
  const action = fieldOf(value, "action_requests") ?? fieldOf(value, "action_request");
  const call = Array.isArray(action) ? action[0] : (action ?? value);
  const texts = [
    callText(call),
    fieldOf(value, "description"),
    fieldOf(value, "question"),
    fieldOf(value, "message"),
    value,
  ];
  const text = texts.find((each) => typeof each === "string" && each.trim() !== "");
  if (typeof text === "string") return cutText(text, MAX_TEXT);
  return value === undefined ? "Waits before a node" : cutText(JSON.stringify(value), MAX_TEXT);
}

/** Returns a tool with its arguments, such as "refund_order: order 1042, amount 19.9". */
function callText(call: unknown): string | undefined {
  const name = fieldOf(call, "name") ?? fieldOf(call, "action");
  if (typeof name !== "string" || name === "") return undefined;
  const args = Object.entries(Object(fieldOf(call, "args") ?? fieldOf(call, "arguments")));
  const shown = args.map(
    ([key, arg]) => `${key} ${typeof arg === "string" ? arg : JSON.stringify(arg)}`,
  );
  return shown.length > 0 ? `${name}: ${shown.join(", ")}` : name;
}

function fieldOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return fieldOf(value[0], name);
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
