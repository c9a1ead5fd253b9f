import type { Context } from "../../shared/context.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { tracePartition } from "../object/stub.ts";
import { byDottedOrder } from "../reads/reads.ts";
import { MAX_PAGE_CHARS, type SpanRow } from "../reads/spans.ts";
import { moveBelow } from "../trees/called-traces.ts";
import type { PlacedListing } from "./trace-listings.ts";

const AT_ONCE = 25;
/** Size of the pages of all listings together. Requests share the 128 MB of an isolate. */
const MAX_HELD_CHARS = 8_000_000;
/** Bounds the number of calls. */
const MIN_PAGE_CHARS = 20_000;
/** A span has at least this size, most of it names of fields. */
const MIN_SPAN_CHARS = 250;

type Source = AsyncGenerator<SpanRow>;
type Head = { span: SpanRow; source: Source };

/** Yields the spans of all listings in the order of `dotted_order`. Holds one page of each listing. */
export async function* mergeSpans(ctx: Context, listed: PlacedListing[]): AsyncGenerator<SpanRow> {
  const changed = listed.filter(({ listing }) => listing.ids.length > 0);
  const max_chars = pageChars(changed.length);
  const sources = changed.map((one) => spansOf(ctx, one, max_chars));
  const started = await mapConcurrent(sources, AT_ONCE, nextHead);
  const heads = started.flat().sort(byOrder);
  for (let head = heads.shift(); head !== undefined; head = heads.shift()) {
    yield head.span;
    for (const next of await nextHead(head.source)) heads.splice(placeOf(heads, next), 0, next);
  }
}

/** Returns the size of a page when so many listings hold one each. */
export function pageChars(listings: number): number {
  const share = Math.floor(MAX_HELD_CHARS / listings);
  return Math.min(MAX_PAGE_CHARS, Math.max(MIN_PAGE_CHARS, share));
}

/** Sends the ids that can fit a page, so that pages are full: each call sums the trace's usage anew. */
async function* spansOf(
  ctx: Context,
  { partition, listing, below }: PlacedListing,
  max_chars: number,
): Source {
  const object = tracePartition(ctx.env, partition);
  const count = Math.ceil(max_chars / MIN_SPAN_CHARS);
  for (let at = 0; at < listing.ids.length; ) {
    const { spans, read } = await object.readSpans(listing.ids.slice(at, at + count), max_chars);
    yield* below === null ? spans : spans.map((span) => moveBelow(span, below));
    at += read;
  }
}

/** @returns the next span of a source, an empty list at its end */
async function nextHead(source: Source): Promise<Head[]> {
  const { done, value } = await source.next();
  return done ? [] : [{ span: value, source }];
}

function byOrder(a: Head, b: Head): number {
  return byDottedOrder(a.span, b.span);
}

/** Returns the index at which a head belongs among sorted ones. */
function placeOf(heads: Head[], head: Head): number {
  let [from, to] = [0, heads.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = heads[middle];
    if (other !== undefined && byOrder(other, head) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
