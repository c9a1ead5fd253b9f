import type { BulkExportRun } from "../../../exports/bulk-exports/run-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { EXPORTS } from "../../exports/names.ts";
import { formatNumber } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { type DayBar, labelOfDay, summarizeDays, toDayBars } from "./days.ts";

type Props = { id: string; poll: number | false };

/** Draws the written rows by UTC day. */
export function DayChart({ id, poll }: Props) {
  const query = useApiQuery<BulkExportRun[]>(under(EXPORTS)`/${id}/runs`, { poll });
  return (
    <QueryState query={query} what="The days could not be read" rows={3}>
      {(runs) => (
        <Panel title="By day" footer={runs.length === 0 ? undefined : summarizeDays(runs)}>
          {runs.length === 0 ? (
            <p className="in-p dim">The days appear when the export is planned.</p>
          ) : (
            <Bars bars={toDayBars(runs)} />
          )}
        </Panel>
      )}
    </QueryState>
  );
}

function Bars({ bars }: { bars: DayBar[] }) {
  return (
    <ol className="days" aria-label="Rows by day">
      {bars.map(({ key, label, rows, state, height }, index) => (
        <li
          key={key}
          className={state}
          title={`${label}: ${formatNumber(rows)} rows, ${labelOfDay(state)}`}
        >
          <i style={{ height: `${Math.max(4, height * 100)}%` }} />
          <span className="sr">{`${label}: ${formatNumber(rows)} rows, ${labelOfDay(state)}`}</span>
          <em aria-hidden="true">{isLabelled(index, bars.length) ? label : ""}</em>
        </li>
      ))}
    </ol>
  );
}

const MAX_LABELS = 5;

function isLabelled(index: number, count: number): boolean {
  return index % Math.ceil(count / MAX_LABELS) === 0;
}
