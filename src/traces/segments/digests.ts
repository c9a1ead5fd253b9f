import type { KeptDigest, Pair, PairSource, RunChange } from "../changes.ts";
import { indexedPairs, searchTextOf as payloadSearchText } from "../digest.ts";
import { MAX_KEYS_PER_RUN } from "../limits.ts";
import type { Pointers } from "../rows/rows.ts";
import type { RunVersion } from "./codec/columns.ts";

/** Payloads whose pairs are indexed: metadata, inputs and outputs. */
const SOURCES = { m: "extra", i: "inputs", o: "outputs" } as const;
/** Characters of an error that `search` reads. */
const MAX_ERROR_CHARS = 2000;
/** Separates the sections of a search text. Within a section, a space replaces it. */
const MARK = "\u001f";

/** Digests of payloads in R2, whose texts the partition does not have. */
type KeptDigests = Partial<Record<PairSource, KeptDigest>>;

type DigestSource = Pick<RunVersion, "inputs" | "outputs" | "extra" | "error" | "digests"> &
  Pick<RunVersion, "input_keys" | "output_keys"> & { sent_name: string | null };

/** Returns the pairs of a run that filters read. */
export function readPairs(run: DigestSource, of: PairSource): readonly Pair[] {
  const kept = keptOf(run)[of];
  if (kept !== undefined) return kept.pairs;
  const text = run[SOURCES[of]];
  if (text === null) return [];
  // Numbers of keys that the index took when the run was stored.
  const keys = { m: MAX_KEYS_PER_RUN, i: run.input_keys, o: run.output_keys }[of];
  return indexedPairs(of, JSON.parse(text), keys ?? MAX_KEYS_PER_RUN);
}

/** Returns the lowercase text that `search` reads: name, error, inputs, outputs. */
export function searchTextOf(run: DigestSource): string {
  const kept = keptOf(run);
  const section = (of: "i" | "o") => {
    const text = run[SOURCES[of]];
    return kept[of]?.search ?? (text === null ? "" : payloadSearchText(JSON.parse(text)));
  };
  const sections = [
    (run.sent_name ?? "").toLowerCase(),
    (run.error ?? "").slice(0, MAX_ERROR_CHARS).toLowerCase(),
    section("i"),
    section("o"),
  ];
  return sections.map((text) => text.replaceAll(MARK, " ")).join(MARK);
}

/** Start of an escape that JSON allows for any character. */
const ESCAPED = "\\u";

/**
 * Returns false only when the search text lacks one of the words. Reads payloads without parsing their JSON: the words
 * must be lowercase, and must look the same in JSON. A text with an escape of any other character may have any word.
 */
export function mayHaveWords(run: DigestSource, words: readonly string[]): boolean {
  if (run.digests !== null) return true;
  const texts = [run.sent_name, run.error, run.inputs, run.outputs].map((text) => text ?? "");
  if (texts.some((text) => text.includes(ESCAPED))) return true;
  const lower = texts.map((text) => text.toLowerCase());
  return words.every((word) => lower.some((text) => text.includes(word)));
}

function keptOf({ digests }: Pick<RunVersion, "digests">): KeptDigests {
  return digests === null ? {} : JSON.parse(digests);
}

/**
 * Returns the digests to keep after a change, as text: those of payloads that are in R2.
 * @param overwritten fields that the change replaces
 * @param pointers fields whose payloads are in R2 after the change
 */
export function keepDigests(
  before: string | null,
  { digest }: RunChange,
  overwritten: readonly string[],
  pointers: Pointers,
): string | null {
  const kept = keptOf({ digests: before });
  for (const of of Object.keys(SOURCES) as PairSource[]) {
    const name = SOURCES[of];
    const sent = digest[name]?.kept;
    if (!pointers[name]) delete kept[of];
    else if (sent && overwritten.includes(name)) kept[of] = sent;
  }
  return Object.keys(kept).length === 0 ? null : JSON.stringify(kept);
}
