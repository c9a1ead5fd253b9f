/** Removes every `character` at the end. A regular expression like `/\/+$/` takes quadratic time for this. */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
