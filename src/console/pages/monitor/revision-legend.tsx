import { Link } from "@tanstack/react-router";
import type { RevisionsList } from "../../../control-plane/deployments/revision-schema.ts";
import type { DeploymentsList } from "../../../control-plane/deployments/schema.ts";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { pathTo } from "../../state/path.ts";
import { Time } from "../../ui/values.tsx";
import { type RevisionMark, toRevisionMarks } from "./revision-marks.ts";

const SHOWN = 100;

/**
 * Returns the revisions that began to serve in the time of the charts, the oldest first. The deployment must be among
 * the `SHOWN` that the list reads.
 */
export function useRevisionMarks(project_id: string, answer: RunSeries) {
  const deployments = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: SHOWN },
  });
  const found = deployments.data?.resources.find(
    ({ tracing_project_id }) => tracing_project_id === project_id,
  );
  const path = found ? apiPath`/v2/deployments/${found.id}/revisions` : null;
  const { data, error } = useApiQuery<RevisionsList>(path, { query: { limit: SHOWN } });
  return {
    marks: toRevisionMarks(data?.resources ?? [], answer),
    error: deployments.error ?? error,
  };
}

/** Lists the revisions that the diamonds of the charts mark. */
export function RevisionLegend({ marks, error }: { marks: RevisionMark[]; error: Error | null }) {
  const workspace = useWorkspaceId();
  if (error) return <p className="err sm mt-3">Revisions are not marked: {error.message}</p>;
  if (marks.length === 0) return null;
  return (
    <ul className="row wrap sm mt-3" aria-label="Revisions that began to serve">
      {marks.map(({ id, deployment_id, name, at }) => (
        <li key={id} className="row gap-1">
          <i className="diamond" aria-hidden="true" />
          <Link to={pathTo(workspace, `/deployments/${deployment_id}`)} search={{ rev: id }}>
            <code>{name}</code>
          </Link>
          <span className="dim">
            began to serve <Time at={at} exact />
          </span>
        </li>
      ))}
    </ul>
  );
}
