import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import { formatDuration, formatTime } from "../../ui/formats.ts";
import { useNow } from "../../ui/values.tsx";

/** The time until the next run; the title has the time itself. */
export function NextRun({ cron: { next_run_date, enabled } }: { cron: FoundCron }) {
  const now = useNow(enabled === true);
  if (enabled !== true) return <span className="dim">none while paused</span>;
  if (!next_run_date) return <span className="dim">none: its end time has passed</span>;
  const left = Date.parse(next_run_date) - now;
  return (
    <time dateTime={next_run_date} title={next_run_date} className="nw">
      {left <= 0 ? "now" : `in ${formatDuration(left)}`}
      <span className="dim sm"> {formatTime(next_run_date)}</span>
    </time>
  );
}
