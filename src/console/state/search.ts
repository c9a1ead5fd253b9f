/** Readers of search parameters. Invalid ones are ignored, because people edit addresses. */
export type RawSearch = Record<string, unknown>;

const MAX_TEXT = 4000;

export function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_TEXT) : undefined;
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
