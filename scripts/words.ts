// Prints comments, names and texts with words that the project does not use; below a folder when one is given.
// Ends with 1 when there are any.
import { glob, readFile } from "node:fs/promises";
import { checkWords } from "./house/words.ts";
import { readOptions } from "./options.ts";

const FOLDERS = "{src,local,test,scripts,bench,examples}/**/*.{ts,tsx}";
const [folder = ""] = readOptions({}, true).positionals;

const sources = [];
for await (const path of glob(FOLDERS, {
  exclude: ["**/node_modules/**", "scripts/house/allowed-words.ts"],
})) {
  sources.push({ path, text: await readFile(path, "utf8") });
}
const [findings, unused] = checkWords(sources);
const shown = findings.filter(({ path }) => path.startsWith(folder));
for (const { path, line, text, because } of shown) {
  console.log(`${path}:${line}: ${because}: ${text.slice(0, 100)}`);
}
for (const { path, text } of unused)
  console.log(`scripts/house/allowed-words.ts: unused: ${path} "${text}"`);
console.log(`${shown.length} findings in ${sources.length} files.`);
process.exitCode = shown.length + unused.length > 0 ? 1 : 0;
