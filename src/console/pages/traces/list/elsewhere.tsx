import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Project } from "../../../../traces/projects/schema.ts";
import type { RunsPage } from "../../../../traces/query/query-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { windowOf } from "../../../traces/time-range.ts";
import { cutText, formatCount } from "../../../ui/formats.ts";
import type { ListQuery } from "./use-trace-list.ts";

const route = getRouteApi("/w/$workspace/traces");
const LONGEST = "30d";
const MAX_FOUND = 100;
const MAX_NAME = 100;

type Props = { query: ListQuery; projects: Project[] };

/**
 * Links to the listed projects that have any of the newest `MAX_FOUND` matching runs of the last 30 days. The current
 * project may be one of them.
 */
export function Elsewhere({ query: { filter, is_root }, projects }: Props) {
  const [start_time] = useState(() => windowOf(LONGEST, Date.now()).start);
  const { data } = useApiQuery<RunsPage>(apiPath`/api/v1/runs/query`, {
    post: {
      session: projects.map(({ id }) => id),
      start_time,
      select: ["id", "session_id"],
      limit: MAX_FOUND,
      ...{ filter, is_root },
    },
  });
  const runs = data?.runs ?? [];
  const counts = Map.groupBy(runs, ({ session_id }) => session_id);
  const found = projects.filter(({ id }) => counts.has(id));
  if (found.length === 0) return null;
  const isCut = runs.length === MAX_FOUND;
  return (
    <ul className="grid justify-items-center gap-2" aria-label="Found elsewhere">
      {found.map(({ id, name }) => (
        <li key={id}>
          <route.Link
            to="."
            className="m underline break-words"
            search={({ q, runs: level }) => ({ project: id, q, runs: level, range: LONGEST })}
          >
            {isCut && "at least "}
            {formatCount(counts.get(id)?.length ?? 0, is_root ? "trace" : "run")} in{" "}
            <bdi>{cutText(name, MAX_NAME)}</bdi>, last 30 days
          </route.Link>
        </li>
      ))}
    </ul>
  );
}
