import { type Column, type SQL, sql } from "drizzle-orm";

/** Maximum number of letters that are replaced, which limits the depth of the SQL expression. */
const MAX_LETTERS = 80;
/** Forms that no conversion of the lower-case letter yields: the sigma at the end of words, the capital sharp s. */
const OTHER_FORMS: Record<string, string> = { σ: "ς", ß: "ẞ" };

/** Matches columns that contain a text in upper or lower case, up to MAX_LETTERS different letters outside of ASCII. */
export function containsText(column: Column | SQL, text: string): SQL {
  const { before, after } = lowering(text);
  const lowered = sql`${sql.raw(before)}${column}${sql.raw(after)}`;
  return sql`instr(${lowered}, ${toLower(text)}) > 0`;
}

/** Returns the condition of `containsText` as SQL text, and its one parameter. */
export function containsTextSql(column: string, text: string): { sql: string; parameter: string } {
  const { before, after } = lowering(text);
  return { sql: `instr(${before}${column}${after}, ?) > 0`, parameter: toLower(text) };
}

/** Returns SQL to lower a column. SQLite's lower() knows ASCII only: other letters are replaced one by one. */
function lowering(text: string): { before: string; after: string } {
  const letters = new Set([...text].flatMap((letter) => [letter, ...formsOf(lowerOf(letter))]));
  const pairs = [...letters]
    .filter((letter) => letter > "\x7f" && lowerOf(letter) !== letter)
    .slice(0, MAX_LETTERS);
  const replaced = pairs.map((letter) => `, '${letter}', '${lowerOf(letter)}')`);
  return { before: `${"replace(".repeat(pairs.length)}lower(`, after: `)${replaced.join("")}` };
}

function toLower(text: string): string {
  return [...text].map(lowerOf).join("");
}

/** Lowers one letter as `lowering` does in columns. Keeps a letter whose lower case has several letters. */
function lowerOf(letter: string): string {
  const forms = [letter.toUpperCase().toLowerCase(), letter.toLowerCase()];
  return forms.find(isOneLetter) ?? letter;
}

function formsOf(lower: string): string[] {
  return [lower.toUpperCase(), OTHER_FORMS[lower] ?? lower].filter(isOneLetter);
}

function isOneLetter(text: string): boolean {
  return [...text].length === 1;
}
