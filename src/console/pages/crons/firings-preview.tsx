import { useMemo } from "react";
import { type CronFields, nextFirings } from "./next-firings.ts";

/** Shows the next firings of a schedule while it is typed, or its problem. */
export function FiringsPreview({ plan }: { plan: CronFields }) {
  const { schedule, timezone, end_time } = plan;
  const { times, problem } = useMemo(
    () => nextFirings({ schedule, timezone, end_time }, new Date()),
    [schedule, timezone, end_time],
  );
  return (
    <div className="field" role="status" aria-label="Next runs">
      {problem === null ? (
        <>
          <p className="hint">{times.length === 0 ? "No run before the end." : "Next runs:"}</p>
          <ul className="mono sm">
            {times.map((time) => (
              <li key={time.toISOString()}>{showIn(time, timezone)}</li>
            ))}
          </ul>
        </>
      ) : (
        <p className="bad break-words">{problem}</p>
      )}
    </div>
  );
}

function showIn(time: Date, timezone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: timezone || "UTC",
    timeZoneName: "short",
  }).format(time);
}
