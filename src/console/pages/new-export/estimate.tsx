import type { UseQueryResult } from "@tanstack/react-query";
import type { BulkExportEstimate } from "../../../exports/bulk-exports/estimate-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { type ExportDraft, toEstimate } from "../../exports/draft.ts";
import { EXPORTS } from "../../exports/names.ts";
import { boundText, pastWindows } from "../../exports/windows.ts";
import { useDebounced } from "../../ui/form/use-debounced.ts";
import { formatBytes, formatCount, formatNumber } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";

const SETTLED_MS = 400;
/** The limit of the API: a week. */
const MAX_INTERVAL_HOURS = 168;

/** Counts the runs of a draft after a pause in typing. */
export function useEstimate(draft: ExportDraft): UseQueryResult<BulkExportEstimate> {
  const request = useDebounced(toEstimate(draft), SETTLED_MS);
  return useApiQuery<BulkExportEstimate>(under(EXPORTS)`/estimate`, {
    post: request ?? {},
    enabled: request !== null,
  });
}

type Props = { draft: ExportDraft; query: UseQueryResult<BulkExportEstimate> };

/** Shows the rows and the size of an export before it is created. */
export function Estimate({ draft, query }: Props) {
  return (
    <Panel title="What will be written">
      <div className="in-p" aria-live="polite">
        {toEstimate(draft) === null ? (
          <p className="dim">Choose a project and the times.</p>
        ) : (
          <QueryState query={query} what="The runs could not be counted" rows={3}>
            {(estimate) => <Figures estimate={estimate} draft={draft} />}
          </QueryState>
        )}
      </div>
    </Panel>
  );
}

/** @returns `null` while the hours are not a valid interval */
function windowsText({ from, hours }: ExportDraft): string | null {
  const interval = Number(hours);
  if (!(interval >= 1 && interval <= MAX_INTERVAL_HOURS)) return null;
  const { count, next_end } = pastWindows(Date.parse(`${from}Z`), interval, Date.now());
  const past = count === 0 ? "No window has ended" : `${formatCount(count, "window")} at once`;
  const next = boundText(new Date(next_end).toISOString(), new Date());
  return `Counted from the start until now. ${past}; the next ends ${next} UTC and is written ten minutes later.`;
}

function Figures({ estimate, draft }: { estimate: BulkExportEstimate; draft: ExportDraft }) {
  const { rows, bytes, days, is_exact } = estimate;
  const about = is_exact ? "" : "about ";
  return (
    <>
      <dl className="kv">
        <dt>Rows</dt>
        <dd>{`${about}${formatNumber(rows)}`}</dd>
        <dt>Days</dt>
        <dd>{formatNumber(days)}, at least one file for each with runs</dd>
        <dt>Size</dt>
        <dd>about {formatBytes(bytes)} before compression</dd>
      </dl>
      {rows === 0 && <p className="mid sm mt-2">No run matches: the export would have no file.</p>}
      {draft.when === "schedule" && <p className="mid sm mt-2">{windowsText(draft)}</p>}
    </>
  );
}
