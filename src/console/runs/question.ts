const MAX_TEXT = 200;

/** A line for an interrupt: the tool that it would call, its text, or its JSON. Agents choose any shape. */
export function questionOf(interrupts: unknown): string {
  const first = Object.values(Object(interrupts) as Record<string, unknown>).flat()[0];
  const value: unknown = fieldOf(first, "value") ?? first;
  const action = fieldOf(value, "action_requests") ?? fieldOf(value, "action_request");
  const call = Array.isArray(action) ? action[0] : (action ?? value);
  const texts = [
    fieldOf(value, "description"),
    fieldOf(call, "name") ?? fieldOf(call, "action"),
    fieldOf(value, "question"),
    fieldOf(value, "message"),
    value,
  ];
  const text = texts.find((each) => typeof each === "string" && each.trim() !== "");
  if (typeof text === "string") return text.slice(0, MAX_TEXT);
  return value === undefined ? "Waits before a node" : JSON.stringify(value).slice(0, MAX_TEXT);
}

function fieldOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return fieldOf(value[0], name);
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
