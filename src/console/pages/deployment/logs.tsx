import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { LogView } from "../../ui/log-view.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { QueryState } from "../../ui/states.tsx";
import { showStatus } from "../deployments/revision-status.ts";
import { buildLogPath, type LogTail, serverLogPath, useLog } from "./use-log.ts";

const route = getRouteApi("/w/$workspace/deployments/$deployment");
const POLL_MS = 500;
const SERVER_POLL_MS = 2000;
const RANGES = { "15m": 15, "1h": 60, "24h": 24 * 60 } as const;
const LEVELS = ["INFO", "WARNING", "ERROR"] as const;
const MINUTE_MS = 60_000;

export function Logs({ revision }: { revision: Revision }) {
  const { log = "build", find } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (search: object) =>
    void navigate({
      search: (former) => ({ ...former, line: undefined, ...search }),
      replace: true,
    });
  return (
    <Panel
      className="min-w-0"
      label="Logs"
      title={
        <span className="seg">
          {(["build", "server"] as const).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={log === each}
              onClick={() => change({ log: each })}
            >
              {each === "build" ? "Build log" : "Server log"}
            </button>
          ))}
        </span>
      }
      end={
        <SearchField
          label="Find"
          value={find ?? ""}
          onChange={(text) => change({ find: text || undefined })}
        />
      }
    >
      {log === "build" ? (
        <BuildLog key={revision.id} revision={revision} />
      ) : (
        <ServerLog key={revision.id} revision={revision} change={change} />
      )}
    </Panel>
  );
}

function BuildLog({ revision }: { revision: Revision }) {
  const { find, line } = route.useSearch();
  const { isBuilding } = showStatus(revision.status);
  const query = useLog({
    path: buildLogPath(revision.deployment_id, revision.id),
    filter: { ...(find && { query: find }) },
    poll: POLL_MS,
  });
  return (
    <QueryState query={query} what="The build log could not be read">
      {(tail) => (
        <Tail
          key={find ?? ""}
          tail={tail}
          label="Build log"
          isLive={isBuilding}
          target={line}
          empty={
            isBuilding ? "The build has written nothing yet." : "The build wrote no such line."
          }
        />
      )}
    </QueryState>
  );
}

type ServerProps = { revision: Revision; change: (search: object) => void };

function ServerLog({ revision, change }: ServerProps) {
  const { find, level, range = "1h", at } = route.useSearch();
  const times = useMemo(() => timesOf(range, at), [range, at]);
  const query = useLog({
    path: serverLogPath(revision.deployment_id, revision.id),
    filter: { ...times, ...(find && { query: find }), ...(level && { level }) },
    poll: SERVER_POLL_MS,
  });
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
        {at && <span className="dim sm">Around {at.slice(0, 19).replace("T", " ")} UTC</span>}
      </div>
      <QueryState query={query} what="The server log could not be read">
        {(tail) => (
          <Tail
            key={`${find}${level}${range}${at}`}
            tail={tail}
            label="Server log"
            isLive={at === undefined}
            empty="The agents printed nothing in this time."
          />
        )}
      </QueryState>
    </>
  );
}

/** Minutes before and after a time that a trace names. */
const AROUND = { before: 1, after: 10 };

function timesOf(range: keyof typeof RANGES, at: string | undefined) {
  if (at === undefined) {
    return { start_time: new Date(Date.now() - RANGES[range] * MINUTE_MS).toISOString() };
  }
  const time = Date.parse(at);
  return {
    start_time: new Date(time - AROUND.before * MINUTE_MS).toISOString(),
    end_time: new Date(time + AROUND.after * MINUTE_MS).toISOString(),
  };
}

type TailProps = {
  tail: LogTail;
  label: string;
  isLive: boolean;
  empty: string;
  target?: number | undefined;
};

function Tail({ tail: { lines, dropped }, label, isLive, empty, target }: TailProps) {
  const [isFollowing, setFollowing] = useState(isLive && target === undefined);
  if (lines.length === 0) return <Empty title="No lines">{empty}</Empty>;
  return (
    <>
      <LogView
        label={label}
        lines={lines}
        isFollowing={isFollowing}
        onScrolledUp={() => setFollowing(false)}
        target={target}
      />
      <footer className="row in-p dim sm">
        <span>
          {formatCount(lines.length, "line")}
          {dropped > 0 && `; ${dropped} earlier ones are not shown`}
        </span>
        {isLive && (
          <button type="button" className="btn sm push" onClick={() => setFollowing(!isFollowing)}>
            <Icon name={isFollowing ? "pause" : "play"} small />
            {isFollowing ? "Pause" : "Follow"}
          </button>
        )}
      </footer>
    </>
  );
}
