import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { LogStreamQuery } from "../../../../control-plane/deployments/logs/log-schema.ts";
import type { Revision } from "../../../../control-plane/deployments/revision-schema.ts";
import { apiPath } from "../../../api/path.ts";
import { ZONE } from "../../../state/time-zone.ts";
import { formatTime } from "../../../ui/formats.ts";
import { LogTail } from "./log-tail.tsx";
import { useLogStream } from "./use-log-stream.ts";

const route = getRouteApi("/w/$workspace/deployments/$deployment");
const RANGES = { "15m": 15, "1h": 60, "24h": 24 * 60 } as const;
const LEVELS = ["INFO", "WARNING", "ERROR"] as const;
const MINUTE_MS = 60_000;
/** Minutes that are shown before and after the time of the address. */
const AROUND = { before: 1, after: 10 };

type Props = { revision: Revision; change: (search: object) => void };

/** Shows the lines that the agents of a revision print, filtered by time, level and text. */
export function ServerLog({ revision, change }: Props) {
  const { find, level, range = "1h", at } = route.useSearch();
  return (
    <>
      <div className="row wrap in-p">
        <span className="seg">
          {(Object.keys(RANGES) as (keyof typeof RANGES)[]).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={at === undefined && range === each}
              onClick={() => change({ range: each, at: undefined })}
            >
              {each}
            </button>
          ))}
        </span>
        <select
          className="in auto"
          aria-label="Level"
          value={level ?? ""}
          onChange={(event) => change({ level: event.target.value || undefined })}
        >
          <option value="">Every level</option>
          {LEVELS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {at && (
          <span className="dim sm">
            Around {formatTime(at)} {ZONE}
          </span>
        )}
      </div>
      <ServerTail key={`${find} ${level} ${range} ${at}`} revision={revision} />
    </>
  );
}

function ServerTail({ revision: { deployment_id, id } }: { revision: Revision }) {
  const { find, level, range = "1h", at } = route.useSearch();
  const [times] = useState(() => timesOf(range, at));
  const isPast = at !== undefined;
  const [isFollowing, setFollowing] = useState(!isPast);
  const query: LogStreamQuery = { ...times, query: find, level };
  const isOpen = isPast || isFollowing;
  const read = useLogStream({
    path: apiPath`/v2/deployments/${deployment_id}/revisions/${id}/logs/stream`,
    query,
    isOpen,
  });
  return (
    <LogTail
      read={isOpen ? read : { ...read, state: "paused" }}
      label="Server log"
      isFollowing={isFollowing}
      onFollow={isPast ? undefined : setFollowing}
      empty="The agents printed nothing in this time."
    />
  );
}

function timesOf(range: keyof typeof RANGES, at: string | undefined) {
  const shifted = (time: number, minutes: number) =>
    new Date(time + minutes * MINUTE_MS).toISOString();
  if (at === undefined) return { start_time: shifted(Date.now(), -RANGES[range]) };
  const time = Date.parse(at);
  return { start_time: shifted(time, -AROUND.before), end_time: shifted(time, AROUND.after) };
}
