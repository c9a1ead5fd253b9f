// Writes Tailwind's style sheets by file name as JSON, in a text module that the builder embeds. In builds,
// `@import "tailwindcss"` of an agent's UI component resolves to them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const SHEETS = ["index.css", "preflight.css", "theme.css", "utilities.css"];

export function buildStyles(outdir: string) {
  const folder = dirname(createRequire(import.meta.url).resolve("tailwindcss/package.json"));
  const sheets = SHEETS.map((name) => [name, readFileSync(join(folder, name), "utf8")]);
  mkdirSync(outdir, { recursive: true });
  writeFileSync(`${outdir}/tailwind.txt`, JSON.stringify(Object.fromEntries(sheets)));
}
