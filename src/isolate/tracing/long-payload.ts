/** Limit of the JSON text of a payload: a larger one costs the run memory, and readers have no use for it. */
export const MAX_CHARACTERS = 4 * 1024 * 1024;
/** Depth of the parts of a message's content in `{ messages: [[message]] }`. */
const DEPTH = 7;

export function leftOut(characters: number | string) {
  return { left_out: `${characters} characters, more than a trace keeps` };
}

/**
 * Whether the JSON text of a payload is certainly too long. Counts only texts of plain data and contents of messages.
 * Does not write the JSON, which would take much memory for each node of each step.
 */
export function isLong(payload: unknown): boolean {
  return roomLeft(payload, MAX_CHARACTERS, DEPTH) < 0;
}

function roomLeft(value: unknown, room: number, depth: number): number {
  if (typeof value === "string") return room - value.length;
  if (typeof value !== "object" || value === null || depth === 0) return room;
  if (Array.isArray(value)) return roomAfter(value, room, depth);
  if ("lc_kwargs" in value) {
    return roomLeft("content" in value ? value.content : null, room, depth - 1);
  }
  const isPlain = Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value);
  return isPlain ? roomAfter(Object.values(value), room, depth) : room;
}

function roomAfter(items: unknown[], room: number, depth: number): number {
  let left = room;
  for (let n = 0; n < items.length && left >= 0; n++) left = roomLeft(items[n], left, depth - 1);
  return left;
}
