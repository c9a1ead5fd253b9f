/** @returns the steps of a path such as `values.messages[-1].content`, `null` when it is invalid */
export function toSteps(path: string): (string | number)[] | null {
  if (!/^[^.[\]]+(\.[^.[\]]+|\[-?\d+\])*$/.test(path)) return null;
  return [...path.matchAll(/\[(-?\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name ?? "") : Number(index),
  );
}

/** Returns the value at a valid path, `null` when there is none. Negative indexes count from the end. */
export function extract(from: unknown, path: string): unknown {
  return (toSteps(path) ?? []).reduce<unknown>(stepInto, from) ?? null;
}

function stepInto(value: unknown, step: string | number): unknown {
  if (typeof step === "number") return Array.isArray(value) ? value.at(step) : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined;
}
