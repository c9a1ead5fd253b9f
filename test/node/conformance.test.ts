import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

const FOLDER = "docs/reference";
const text = await readFile(`${FOLDER}/conformance.md`, "utf8");

/** A link is named after its file, or after a part of a test's name in it. */
const links = [...text.matchAll(/\[([^\]]+)\]\((\S+\.test\.ts)\)/g)].map(
  ([, name = "", target = ""]) => ({ name, path: join(FOLDER, target) }),
);

test("each test that the page names exists in the file that it links to", async () => {
  expect(links.length).toBeGreaterThan(200);
  const missing: typeof links = [];
  for (const link of links) {
    const source = (await readFile(link.path, "utf8")).replace(/\s+/g, " ");
    const isFile = link.name === basename(link.path, ".test.ts");
    if (!isFile && !source.includes(link.name)) missing.push(link);
  }
  expect(missing).toEqual([]);
});

test("each row of a table of calls names a test", () => {
  const cells = (row: string) => row.split(/(?<!\\)\|/).map((cell) => cell.trim());
  const tables = text.split("\n\n").map((block) => block.split("\n").filter((l) => l[0] === "|"));
  const rows = tables
    .filter(([header = ""]) => cells(header).at(-2) === "Test")
    .flatMap(([, , ...body]) => body);
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter((row) => !cells(row).at(-2)?.includes(".test.ts)"))).toEqual([]);
});
