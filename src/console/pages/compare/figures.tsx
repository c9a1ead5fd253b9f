import type { TraceRun } from "../../../traces/query/run-schema.ts";
import { firstTokenMs } from "../../traces/span-kind.ts";
import { formatCost, formatDuration, formatNumber } from "../../ui/formats.ts";

type Figure = {
  name: string;
  read: (run: TraceRun) => number | null;
  show: (n: number) => string;
};

const FIGURES: Figure[] = [
  {
    name: "Latency",
    read: ({ latency }) => (latency === null ? null : latency * 1000),
    show: formatDuration,
  },
  { name: "First token", read: firstTokenMs, show: formatDuration },
  { name: "Tokens in", read: ({ prompt_tokens }) => prompt_tokens, show: formatNumber },
  { name: "Tokens out", read: ({ completion_tokens }) => completion_tokens, show: formatNumber },
  {
    name: "Cost",
    read: ({ total_cost }) => (total_cost === null ? null : Number(total_cost)),
    show: formatCost,
  },
];

/** The figures of both runs, and the difference in words. */
export function CompareFigures({ a, b }: { a: TraceRun; b: TraceRun }) {
  const rows = FIGURES.map((figure) => ({ ...figure, a: figure.read(a), b: figure.read(b) }));
  return (
    <div className="panel mb-4">
      <table className="tbl" aria-label="Figures of both runs">
        <CompareHead first="Figure" />
        <tbody>
          {rows.map(({ name, show, a: first, b: second }) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="num">{first === null ? "" : show(first)}</td>
              <td className="num">{second === null ? "" : show(second)}</td>
              <td className="num dim">{differenceOf(first, second, show)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function differenceOf(a: number | null, b: number | null, show: (n: number) => string): string {
  if (a === null || b === null) return "";
  if (a === b) return "the same";
  return `${show(Math.abs(b - a))} ${b > a ? "more" : "less"}`;
}

/** The head of a table with a column for each run and one for the difference. */
export function CompareHead({ first }: { first: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        {["A", "B", "B against A"].map((name) => (
          <th key={name} scope="col" className="num">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
