import type { PayloadName, RunChange } from "../changes.ts";

/** Separator that stored texts never contain, so that sections can be split again. */
const MARK = "\u001f";

type Sections = { name: string; error: string; inputs: string; outputs: string };

export function searchText(stored: string | null, change: RunChange, won: PayloadName[]): string {
  const sections = split(stored);
  const { columns, digest } = change;
  if (columns.name !== undefined) sections.name = clean(columns.name);
  if (columns.error !== undefined) sections.error = clean(columns.error.slice(0, 2000));
  if (won.includes("inputs")) sections.inputs = unmarked(digest.inputs?.search ?? "");
  if (won.includes("outputs")) sections.outputs = unmarked(digest.outputs?.search ?? "");
  return [sections.name, sections.error, sections.inputs, sections.outputs].join(MARK);
}

function split(stored: string | null): Sections {
  const [name = "", error = "", inputs = "", outputs = ""] = (stored ?? "").split(MARK);
  return { name, error, inputs, outputs };
}

function clean(text: string): string {
  return unmarked(text.toLowerCase());
}

function unmarked(text: string): string {
  return text.replaceAll(MARK, " ");
}
