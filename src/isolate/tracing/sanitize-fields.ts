import { isLong, leftOut, MAX_CHARACTERS } from "./long-payload.ts";

type Fields = Record<string, unknown>;

/**
 * Copies values that may change before they are sent, such as lists of messages. A description replaces a payload that
 * is too long. Omits children, attachments and the project.
 */
export function sanitizeFields({
  child_runs: _c,
  attachments: _a,
  session_name: _n,
  session_id: _s,
  ...run
}: Fields) {
  const events = Array.isArray(run.events) ? run.events.map(withoutToken) : run.events;
  return { ...run, events, inputs: copyOf(run.inputs), outputs: copyOf(run.outputs) };
}

/** Drops the text of token events: the outputs contain it, and only the time matters. */
function withoutToken(event: unknown): unknown {
  if (!isFields(event) || event.name !== "new_token") return event;
  return { name: event.name, time: event.time };
}

/** Compares fields by name, and lists by item. Values and items are the same if `Object.is` finds so. */
export function isSameInput(before: unknown, now: unknown): boolean {
  if (!isFields(before) || !isFields(now)) return Object.is(before, now);
  const names = Object.keys(now);
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => isSameValue(before[name], now[name]))
  );
}

function isSameValue(before: unknown, now: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(now)) return Object.is(before, now);
  return before.length === now.length && now.every((item, n) => Object.is(item, before[n]));
}

function copyOf(payload: unknown): unknown {
  if (isLong(payload)) return leftOut(`more than ${MAX_CHARACTERS}`);
  if (!isFields(payload)) return payload;
  const fields = Object.entries(payload);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}

export function isFields(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.getPrototypeOf(value) === Object.prototype;
}

export function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
