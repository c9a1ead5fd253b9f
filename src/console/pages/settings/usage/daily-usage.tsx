import { getRouteApi } from "@tanstack/react-router";
import type { UsageDay, UsageDays } from "../../../../control-plane/usage/usage-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { formatBytes, formatCount } from "../../../ui/formats.ts";
import { Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Bytes, Quantity } from "../../../ui/values.tsx";
import { formatSeconds } from "../../../workspace/meters.ts";
import { monthNow, monthOf, rangeOf, shiftMonth } from "./months.ts";

const route = getRouteApi("/w/$workspace/settings/$section");

type Figures = Omit<UsageDay, "date">;
type Row = Figures & { name: string };

/** Shows the usage of a month: its sum, and then its days, the newest first. */
export function DailyUsage() {
  const month = monthOf(route.useSearch().month);
  const query = useApiQuery<UsageDays>(apiPath`/v1/usage`, {
    query: rangeOf(month),
    keepPrevious: true,
  });
  return (
    <Panel
      title={`Days of ${month}`}
      end={<MonthLinks month={month} />}
      footer="Runs that ended, spans and data received, traces stored by the day of their start, and rows exported."
    >
      <QueryState query={query} what="The usage of the month could not be read">
        {({ days }) => (
          <DataTable
            label="Usage by day"
            columns={COLUMNS}
            rows={toRows(days)}
            keyOf={({ name }) => name}
          />
        )}
      </QueryState>
    </Panel>
  );
}

function MonthLinks({ month }: { month: string }) {
  const to = (shift: number) => ({ month: shiftMonth(month, shift) });
  return (
    <>
      <route.Link to="." search={to(-1)} className="btn sm">
        Earlier month
      </route.Link>
      {month < monthNow() && (
        <route.Link to="." search={to(1)} className="btn sm">
          Later month
        </route.Link>
      )}
    </>
  );
}

function toRows(days: UsageDay[]): Row[] {
  const rows = days.map(({ date, ...figures }) => ({ name: date, ...figures })).reverse();
  const [first] = days;
  if (first === undefined) return [];
  const { date: _, ...figures } = first;
  const sums = Object.keys(figures).map((name) => [
    name,
    days.reduce((sum, day) => sum + day[name as keyof Figures], 0),
  ]);
  return [{ name: "All days", ...(Object.fromEntries(sums) as Figures) }, ...rows];
}

const COLUMNS: TableColumn<Row>[] = [
  { id: "day", header: "Day, UTC", cell: (row) => <Day row={row} /> },
  column("Runs", ({ runs }) => <Quantity value={runs} />),
  column("Time of runs", ({ run_seconds }) => formatSeconds(run_seconds)),
  column("Spans", ({ ingested_spans }) => <Quantity value={ingested_spans} />),
  column("Received", ({ ingested_bytes }) => <Bytes value={ingested_bytes} />),
  column("Traces", ({ traces }) => <Quantity value={traces} />),
  column("Stored", ({ trace_bytes }) => <Bytes value={trace_bytes} />),
  column("Rows", ({ export_rows }) => <Quantity value={export_rows} />),
  column("Exported", ({ export_bytes }) => <Bytes value={export_bytes} />),
];

function column(header: string, cell: TableColumn<Row>["cell"]): TableColumn<Row> {
  return { id: header, header, cell, isRightAligned: true, card: "hidden" };
}

/** Shows the day. On a phone, where the columns are hidden, adds a sentence with their values. */
function Day({ row }: { row: Row }) {
  return (
    <>
      <span className="m nw">{row.name}</span>
      <span className="only-m">
        <span className="block dim sm">{sentenceOf(row)}</span>
      </span>
    </>
  );
}

function sentenceOf(row: Row): string {
  const { runs, ingested_spans, traces, export_rows } = row;
  const parts = [
    runs > 0 && `${formatCount(runs, "run")} in ${formatSeconds(row.run_seconds)}`,
    ingested_spans > 0 &&
      `${formatCount(ingested_spans, "span")} and ${formatBytes(row.ingested_bytes)} received`,
    traces > 0 && `${formatCount(traces, "trace")} of ${formatBytes(row.trace_bytes)} stored`,
    export_rows > 0 &&
      `${formatCount(export_rows, "row")} of ${formatBytes(row.export_bytes)} exported`,
  ];
  return parts.filter((part) => part !== false).join(", ") || "no work";
}
