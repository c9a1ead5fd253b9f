/** Reads the value of an item: any JSON object. */
export function parseValue(text: string): { value: object } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { value } : { problem: "Not an object: put the value in { }." };
  } catch (error) {
    return { problem: `Not JSON: ${(error as Error).message}` };
  }
}
