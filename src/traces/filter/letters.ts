/** SQLite's lower() and LIKE know the letters of ASCII; both sides of a comparison must agree. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
