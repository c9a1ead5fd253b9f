/** Texts of users and agents, as a seed writes them. */
export type Words = {
  /** A short text, such as a name. */
  text(plain: string): string;
  /** A text without limit of length. */
  long(plain: string): string;
  /** The name of a variable, which has letters, digits and _ alone. */
  variable(plain: string): string;
};

export const PLAIN: Words = {
  text: (plain) => plain,
  long: (plain) => plain,
  variable: (plain) => plain,
};

/** Marks the elements and scripts that a page must not make of text. */
export const MARK = "heddle-hostile";
/** Reorders the text after it, and has controls of terminals. */
export const HIDDEN = "\u202Egnpexe \u0007\u001B[31m {{7*7}} سلام";
const LENGTH = 100_000;
const MAX_VARIABLE = 128;
const ATTACK = [
  `<img id=${MARK} src=x onerror="document.title='${MARK}'">`,
  `<script id=${MARK}>document.title="${MARK}"</script>`,
  HIDDEN,
].join("");

export const HOSTILE: Words = {
  text: (plain) => `${plain}${ATTACK}`.slice(0, 200),
  long: (plain) => `${plain} ${ATTACK} ${"w".repeat(LENGTH)}`,
  variable: (plain) => plain.padEnd(MAX_VARIABLE, "W"),
};
