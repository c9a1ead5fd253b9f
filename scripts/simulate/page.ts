import { COUNTS, type Counts } from "./counts.ts";
import type { Load } from "./load.ts";
import type { Processor } from "./processor.ts";
import { ASSUMPTIONS, sources, table, toMarkdown } from "./report.ts";

/** Replaces the parts of docs/scale.md that the model computes, each between two comments. */
export function withTables(
  page: string,
  loads: Record<string, Load>,
  processor: Processor,
  counts: Counts = COUNTS,
): string {
  const parts = {
    counts: toMarkdown([["Counted", "Value"], ...countedRows(counts)]),
    loads: toMarkdown(table(loads, processor, counts)),
    assumptions: [...ASSUMPTIONS, ...sources().map((url) => `<${url}>`)]
      .map((text) => `- ${text}`)
      .join("\n"),
  };
  return Object.entries(parts).reduce((text, [name, content]) => {
    const part = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- end -->)`);
    if (!part.test(text)) throw new Error(`The page has no part ${name}`);
    return text.replace(part, (_, start, end) => `${start}\n${content}\n${end}`);
  }, page);
}

function countedRows(counts: Counts): string[][] {
  return Object.entries(counts).flatMap(([operation, values]) =>
    Object.entries(values).map(([name, value]) => [
      `${operation}: ${name}`.replaceAll("_", " "),
      String(value),
    ]),
  );
}
