import { definitionOf } from "./definitions.ts";

/** JSON of the name and the values of the labels. */
export type SeriesKey = string;
/** A counter has its sum only. A histogram has its sum, then the observations of each bucket, the last without a bound. */
export type Series = Map<SeriesKey, number[]>;

export function seriesKey(name: string, labels: readonly (string | number)[]): SeriesKey {
  return JSON.stringify([name, ...labels.map(String)]);
}

export function parseSeriesKey(key: SeriesKey): { name: string; labels: string[] } {
  const [name = "", ...labels] = JSON.parse(key) as string[];
  return { name, labels };
}

export function addToSeries(series: Series, key: SeriesKey, values: readonly number[]): void {
  const sums = series.get(key);
  if (sums === undefined) series.set(key, [...values]);
  else for (const [n, value] of values.entries()) sums[n] = (sums[n] ?? 0) + value;
}

/** Returns series in the text format 0.0.4 of Prometheus. Omits metrics that no longer exist. */
export function toExposition(series: Series): string {
  const families = Map.groupBy(series, ([key]) => parseSeriesKey(key).name);
  return [...families]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, members]) => familyLines(name, members))
    .map((line) => `${line}\n`)
    .join("");
}

function familyLines(name: string, members: [SeriesKey, number[]][]): string[] {
  const definition = definitionOf(name);
  if (definition === undefined) return [];
  const { help, labels: names, buckets } = definition;
  const lines = members.flatMap(([key, values]) => {
    const { labels } = parseSeriesKey(key);
    const pairs = names.map((label, n) => [label, labels[n] ?? ""] as const);
    return buckets === undefined
      ? [sampleLine(name, pairs, values[0] ?? 0)]
      : histogramLines(name, pairs, buckets, values);
  });
  const type = buckets === undefined ? "counter" : "histogram";
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

type Pairs = readonly (readonly [string, string])[];

function histogramLines(
  name: string,
  pairs: Pairs,
  buckets: readonly number[],
  [sum = 0, ...counts]: number[],
): string[] {
  let count = 0;
  const bounds = [...buckets.map(String), "+Inf"];
  const lines = bounds.map((bound, n) => {
    count += counts[n] ?? 0;
    return sampleLine(`${name}_bucket`, [...pairs, ["le", bound]], count);
  });
  return [
    ...lines,
    sampleLine(`${name}_sum`, pairs, sum),
    sampleLine(`${name}_count`, pairs, count),
  ];
}

export function sampleLine(name: string, pairs: Pairs, value: number): string {
  if (pairs.length === 0) return `${name} ${value}`;
  const labels = pairs.map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}{${labels.join(",")}} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}
