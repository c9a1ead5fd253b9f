type Fields = Record<string, unknown>;

/** Selects fields, or `values.<key>`, of the JSON text of one state or a list of states. */
export function pickState(text: string, fields: string[]): string {
  if (fields.length === 0) return text;
  const states: unknown = JSON.parse(text);
  const pickOne = (state: unknown) => pickFields(state as Fields, fields);
  return JSON.stringify(Array.isArray(states) ? states.map(pickOne) : pickOne(states));
}

function pickFields(state: Fields, fields: string[]): Fields {
  const picked = Object.fromEntries(
    Object.entries(state).filter(([field]) => fields.includes(field)),
  );
  if (fields.includes("values")) return picked;
  const keys = fields.flatMap((field) => (field.startsWith("values.") ? [field.slice(7)] : []));
  return keys.length === 0 ? picked : { ...picked, values: pickKeys(state.values, keys) };
}

function pickKeys(values: unknown, keys: string[]): Fields {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
