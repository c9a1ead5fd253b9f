import { type Column, type SQL, sql } from "drizzle-orm";

/** Limits the depth of the expression. */
const MAX_LETTERS = 80;

/** Matches columns that contain a text in any case. */
export function containsText(column: Column | SQL, text: string): SQL {
  const { before, after } = lowering(text);
  const lowered = sql`${sql.raw(before)}${column}${sql.raw(after)}`;
  return sql`instr(${lowered}, ${text.toLowerCase()}) > 0`;
}

/** The same as SQL. Its one parameter is the text in lower case. */
export function containsTextSql(column: string, text: string): string {
  const { before, after } = lowering(text);
  return `instr(${before}${column}${after}, ?) > 0`;
}

/** SQLite's lower() knows ASCII only: the other letters of the text are replaced one by one. */
function lowering(text: string): { before: string; after: string } {
  const letters = [...new Set(text.toLowerCase())].filter(hasOtherCase).slice(0, MAX_LETTERS);
  const replaced = letters.map((letter) => `, '${letter.toUpperCase()}', '${letter}')`);
  return { before: `${"replace(".repeat(letters.length)}lower(`, after: `)${replaced.join("")}` };
}

/** Whether it is a letter beyond ASCII that has one letter as its upper case. */
function hasOtherCase(letter: string): boolean {
  return /^\p{Ll}$/u.test(letter) && letter > "\x7f" && /^\p{Lu}$/u.test(letter.toUpperCase());
}
