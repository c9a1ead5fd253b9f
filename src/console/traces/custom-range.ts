import { fromZonedIso, zonedIso } from "../state/time-zone.ts";
import { cutText, formatTime } from "../ui/formats.ts";
import { DEFAULT_RANGE, rangeLength } from "./range-names.ts";
import type { TracesSearch } from "./search.ts";

/** A chosen time in ISO 8601. Without a start it begins with the range, and without an end it lasts until now. */
export type TimeChoice = { from?: string | undefined; to?: string | undefined };
type Fields = { from: string; to: string };
export type RangeProblems = Partial<Fields>;

const SECONDS_END = 19;

/** Returns a time as a field has it, in the zone of the page. */
export function toField(iso: string | undefined): string {
  return iso === undefined ? "" : zonedIso(new Date(iso)).slice(0, SECONDS_END);
}

/**
 * Reads the fields of a range. An empty end is now.
 * @returns the first problem by the name of its field, or the range
 */
export function readRange(
  fields: Fields,
  now: number,
): { problems: RangeProblems } | { range: TimeChoice } {
  const from = fromZonedIso(fields.from);
  const to = fields.to === "" ? now : fromZonedIso(fields.to);
  if (from === null) return { problems: { from: "From must be a date and a time" } };
  if (to === null) return { problems: { to: "To must be a date and a time, or empty for now" } };
  if (from >= now) return { problems: { from: "From must be before now" } };
  if (to <= from) return { problems: { to: "To must be after From" } };
  const end = fields.to === "" ? undefined : new Date(to).toISOString();
  return { range: { from: new Date(from).toISOString(), to: end } };
}

/** Returns `20 Nov, 07:00 to now`, or `Until 20 Nov, 07:00` for a choice without a start. */
export function choiceText({ from, to }: TimeChoice, now = new Date()): string {
  const end = to === undefined ? "now" : formatTime(to, now);
  return from === undefined ? `Until ${end}` : `${formatTime(from, now)} to ${end}`;
}

const MAX_NAME = 40;

/** Returns the search for a word in one project, and in the time that the list of traces had last. */
export function wordSearch(
  word: string,
  project: { id: string; name: string } | undefined,
  { range, from, to }: TracesSearch,
): { label: string; search: Record<string, string> } {
  const isChosen = from !== undefined || to !== undefined;
  const time = isChosen ? choiceText({ from, to }) : `last ${rangeLength(range ?? DEFAULT_RANGE)}`;
  const place = project === undefined ? "" : ` in ${cutText(project.name, MAX_NAME)}, ${time}`;
  const kept = Object.entries({ project: project?.id, range, from, to });
  const search = Object.fromEntries(
    kept.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  return {
    label: `Search traces for "${word}"${place}`,
    search: { ...search, q: `search(${JSON.stringify(word)})`, runs: "all" },
  };
}
