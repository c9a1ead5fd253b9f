import { billOf, perMillionRuns, totalOf } from "./bill.ts";
import { COUNTS, type Counts } from "./counts.ts";
import type { Load } from "./load.ts";
import { workOf } from "./model.ts";
import { LIMITS, PRICES, READ_ON } from "./platform.ts";
import type { Processor } from "./processor.ts";
import { firstWall, wallsOf } from "./walls.ts";

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const dollars = (usd: number) =>
  `$${new Intl.NumberFormat("en", { maximumFractionDigits: usd < 10 ? 2 : 0 }).format(usd)}`;
const percent = (share: number) => `${number.format(share * 100)} %`;

export const ASSUMPTIONS = [
  "Heddle has never run on Cloudflare. Rows, statements, calls and bytes were counted on the local runtime.",
  "Processor time was measured on the local runtime (docs/performance.md), and is not the platform's.",
  "Load is even over a day, threads and projects. Peaks, hot threads and one large project meet walls sooner.",
  "An isolate serves one deployment, and the requests of --per-isolate. It reads D1 once a second for them.",
  "A statement of D1 takes 1 ms. What D1 stores is not counted: no run adds a row.",
  "Runs are spread over the threads of all objects of a directory. Threads of runs without one belong to the newest objects.",
  "An isolate knows the newest objects of a directory. It pays one call for each generation to learn it, which is not counted.",
  "Threads of a deployment that share an isolate share calls of its directory. The model counts each on its own.",
  "Steps take longer than 300 ms, so that each delivers its spans. Spans have 2 KB, and ids with a time.",
  "An object of traces, or of a directory, is billed as awake in each second with a call. That of a thread, while it has a timer.",
  "A new table counts two rows and an index one, which SQLite writes into its schema. Whether the invoice has them is not known.",
  "Threads are created evenly over --days. Tables of directories, and of a project's days, are not in the model: 25 rows of an object.",
  "Payloads of a run move to R2 after a week (docs/architecture.md). The bill has them in objects for good, at thirteen times the price.",
  "Deleting a thread's storage is free: the price list has no number for it. Rows read are not counted.",
  "Not in the model: heartbeats of runs above 15 s, webhooks, exports, builds, logs, open streams, payloads above 250 KB (R2), queues.",
  `Limits and prices: the pages below, read on ${READ_ON}.`,
];

export function sources(): string[] {
  const all = [...Object.values(PRICES), ...Object.values(LIMITS)].map(({ source }) => source);
  return [...new Set(all)].sort();
}

/** Returns the rows of a table: the first cell is the name of a part, then comes a cell for each load. */
export function table(
  loads: Record<string, Load>,
  processor: Processor,
  counts: Counts = COUNTS,
): string[][] {
  const names = Object.keys(loads);
  const columns = Object.values(loads).map((load) => column(load, counts, processor));
  const [first] = columns;
  if (!first) return [];
  return [
    ["", ...names],
    ...Object.keys(first).map((part) => [part, ...columns.map((cells) => cells[part] ?? "")]),
  ];
}

function column(load: Load, counts: Counts, processor: Processor): Record<string, string> {
  const walls = wallsOf(load, counts, processor);
  const sorted = walls.toSorted((one, other) => one.name.localeCompare(other.name));
  const { name, factor } = firstWall(load, counts, processor);
  const bill = billOf(workOf(load, counts, processor));
  const total = totalOf(bill);
  const each = perMillionRuns(total, load.runs_per_s);
  return {
    "first wall": name,
    "this load, times": factor === 0 ? "met without runs" : number.format(factor),
    ...Object.fromEntries(sorted.map((wall) => [wall.name, percent(wall.utilization)])),
    ...Object.fromEntries(
      Object.entries(bill).map(([part, usd]) => [`bill: ${part}`, dollars(usd)]),
    ),
    "bill of a month": dollars(total),
    "bill of a million runs": each === null ? "" : dollars(each),
  };
}

export function toText(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Returns a table of Markdown, aligned as the formatter of the pages does. */
export function toMarkdown(rows: string[][]): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, n) => Math.max(3, ...rows.map((row) => row[n]?.length ?? 0)));
  const line = (row: string[]) =>
    `| ${row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(head), rule, ...body.map(line)].join("\n");
}
