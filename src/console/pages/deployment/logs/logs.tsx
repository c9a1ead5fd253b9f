import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Revision } from "../../../../control-plane/deployments/revision-schema.ts";
import { showStatus } from "../../../deployments/revision-status.ts";
import type { LogEntry } from "../../../ui/log-view.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { LogTail } from "./log-tail.tsx";
import { ServerLog } from "./server-log.tsx";
import type { LogRead } from "./use-log-stream.ts";

const route = getRouteApi("/w/$workspace/deployments/$deployment");
export function Logs({ revision, build }: { revision: Revision; build: LogRead }) {
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
        <BuildLog key={revision.id} revision={revision} build={build} />
      ) : (
        <ServerLog key={revision.id} revision={revision} change={change} />
      )}
    </Panel>
  );
}

function BuildLog({ revision, build }: { revision: Revision; build: LogRead }) {
  const { find, line } = route.useSearch();
  const { isBuilding } = showStatus(revision.status);
  const [isFollowing, setFollowing] = useState(isBuilding && line === undefined);
  const lines = useMemo(() => linesWith(build.lines, find), [build.lines, find]);
  return (
    <LogTail
      key={find ?? ""}
      read={{ ...build, lines }}
      label="Build log"
      isFollowing={isFollowing}
      onFollow={isBuilding ? setFollowing : undefined}
      target={line}
      empty={emptyText(isBuilding, find)}
    />
  );
}

function emptyText(isBuilding: boolean, find: string | undefined): string {
  if (find !== undefined) return "No line contains this text.";
  return isBuilding ? "The build has written nothing yet." : "The build wrote nothing.";
}

function linesWith(lines: LogEntry[], find: string | undefined): LogEntry[] {
  const text = find?.toLowerCase() ?? "";
  return text === "" ? lines : lines.filter(({ message }) => message.toLowerCase().includes(text));
}
