import type { RunSeries, SeriesBucket } from "../../../traces/stats/series-schema.ts";
import { ZONE, zonedIso } from "../../state/time-zone.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatCost, formatDuration, formatNumber, formatPercent } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";

type Row = SeriesBucket & { key: string; group: string };

const ms = (seconds: number | null) => (seconds === null ? "" : formatDuration(seconds * 1000));

const COLUMNS: TableColumn<Row>[] = [
  {
    id: "time",
    header: `Start, ${ZONE}`,
    cell: ({ start_time }) => zonedIso(new Date(start_time)).slice(0, 16).replace("T", " "),
  },
  { id: "group", header: "Group", cell: ({ group }) => <bdi>{group}</bdi> },
  {
    id: "runs",
    header: "Runs",
    cell: ({ run_count }) => formatNumber(run_count),
    isRightAligned: true,
  },
  {
    id: "errors",
    header: "Errors",
    cell: ({ error_rate }) => (error_rate === null ? "" : formatPercent(error_rate, 2)),
    isRightAligned: true,
  },
  { id: "p50", header: "p50", cell: ({ latency_p50 }) => ms(latency_p50), isRightAligned: true },
  { id: "p99", header: "p99", cell: ({ latency_p99 }) => ms(latency_p99), isRightAligned: true },
  {
    id: "token",
    header: "First token p99",
    cell: ({ first_token_p99 }) => ms(first_token_p99),
    isRightAligned: true,
  },
  {
    id: "wait",
    header: "Wait p99",
    cell: ({ queue_wait_p99 }) => ms(queue_wait_p99),
    isRightAligned: true,
  },
  {
    id: "tokens",
    header: "Tokens",
    cell: ({ total_tokens }) => formatNumber(total_tokens),
    isRightAligned: true,
  },
  {
    id: "cost",
    header: "Cost",
    cell: ({ total_cost }) => (total_cost === null ? "" : formatCost(Number(total_cost))),
    isRightAligned: true,
  },
];

/** Lists the buckets that have runs, the newest first. */
export function FiguresTable({ answer }: { answer: RunSeries }) {
  const rows = answer.series
    .flatMap(({ group, is_rest, buckets }) =>
      buckets.map((bucket) => ({
        ...bucket,
        // A group may be named like the rest.
        key: `${bucket.start_time} ${is_rest} ${group}`,
        group: group ?? (is_rest ? "others" : "all"),
      })),
    )
    .sort((a, b) => b.start_time.localeCompare(a.start_time));
  return (
    <Panel label="Figures">
      <DataTable label="Figures by time" columns={COLUMNS} rows={rows} keyOf={({ key }) => key} />
    </Panel>
  );
}
