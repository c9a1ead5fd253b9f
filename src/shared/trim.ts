/** Removes every `character` at the end. A regular expression like `/\/+$/` takes quadratic time for this. */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** @returns at most `max` characters of the first line with text, `null` when the first 10 * `max` characters are blank */
export function firstLine(text: string, max: number): string | null {
  const line =
    text
      .slice(0, 10 * max)
      .trim()
      .split(/[\r\n]/, 1)[0]
      ?.trim() ?? "";
  return line === "" ? null : line.slice(0, max);
}
