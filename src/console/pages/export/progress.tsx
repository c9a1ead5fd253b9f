import type { ReactNode } from "react";
import type { BulkExport } from "../../../exports/schema.ts";
import { ProgressBar } from "../../ui/blocks/progress-bar.tsx";
import { formatDuration, formatNumber, formatPercent } from "../../ui/formats.ts";
import { Bytes, Quantity, Time } from "../../ui/values.tsx";

type ExportProgress = NonNullable<BulkExport["progress"]>;

/** Shows the progress of an export, and its numbers of rows, files, bytes and late rows. */
export function Progress({
  bulkExport,
  progress,
}: {
  bulkExport: BulkExport;
  progress: ExportProgress;
}) {
  const { rows_written, rows_total, files_written, files_total, fraction, phase } = progress;
  return (
    <section className="panel" aria-label="Progress">
      <div className="in-p grid gap-2">
        <div className="row wrap">
          {fraction !== null && <b className="text-xl">{formatPercent(fraction)}</b>}
          <span className="mid" role="status">
            {phase}
            {leftText(progress)}
          </span>
          <span className="push sm dim">
            {bulkExport.finished_at === null ? "created " : "ended "}
            <Time at={bulkExport.finished_at ?? bulkExport.created_at} />
          </span>
        </div>
        <ProgressBar fraction={fraction ?? 0} label="Progress of the export" />
      </div>
      <div className="tiles tiles-4">
        <Tile
          label="Rows"
          detail={rows_total === null ? "not counted yet" : `of ${formatNumber(rows_total)}`}
        >
          <Quantity value={rows_written} short />
        </Tile>
        <Tile
          label="Files"
          detail={files_total === null ? "not planned yet" : `of ${formatNumber(files_total)}`}
        >
          <Quantity value={files_written} />
        </Tile>
        <Tile label="Written" detail={bulkExport.compression}>
          <Bytes value={progress.bytes_written} />
        </Tile>
        <Tile label="Late rows" detail="of earlier windows">
          <Quantity value={progress.late_rows_written} short />
        </Tile>
      </div>
    </section>
  );
}

function leftText({ seconds_left }: ExportProgress): string {
  if (seconds_left === null || seconds_left < 1) return "";
  return `, about ${formatDuration(seconds_left * 1000)} left`;
}

type Props = { label: string; children: ReactNode; detail?: ReactNode };

/** A number with its label, and a detail below it. Must be in an element of the class `tiles`. */
function Tile({ label, children, detail }: Props) {
  return (
    <div className="tile">
      <span className="k">{label}</span>
      <span className="v">{children}</span>
      <span className="d">{detail ?? "\u00a0"}</span>
    </div>
  );
}
