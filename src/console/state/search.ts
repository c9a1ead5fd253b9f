// Readers of search parameters. Invalid values are ignored, because people edit addresses.

export type RawSearch = Record<string, unknown>;

const MAX_TEXT = 4000;

/** Returns a text. The router parses digits and `true` as JSON, so a text may arrive as a number or a boolean. */
export function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_TEXT) : undefined;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return UUID.test(text);
}

/** An id, which becomes a part of the API's paths. */
export function idParam(search: RawSearch, name: string): string | undefined {
  const text = textParam(search, name);
  return text !== undefined && isId(text) ? text : undefined;
}

export function choiceParam<const C extends string>(
  search: RawSearch,
  name: string,
  choices: readonly C[],
): C | undefined {
  return choices.find((choice) => choice === search[name]);
}

export function numberParam(search: RawSearch, name: string): number | undefined {
  const value = Number(search[name] ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

/** A time in ISO 8601. */
export function timeParam(search: RawSearch, name: string): string | undefined {
  const text = textParam(search, name);
  return text !== undefined && Number.isFinite(Date.parse(text)) ? text : undefined;
}

export function flagParam(search: RawSearch, name: string): true | undefined {
  return search[name] === true || search[name] === "true" ? true : undefined;
}
