import { sql } from "drizzle-orm";
import type { Database } from "../../shared/context.ts";

/** Bytes that a workspace stores, by kind. */
export type StoredBytes = {
  uploads: number;
  artifacts: number;
  traces: number;
  payloads: number;
  attachments: number;
  logs: number;
};

/**
 * Returns what the workspace stores. Traces follow by about a minute, logs of agents in steps of a megabyte. States of
 * threads and items of stores do not count. An artifact that several revisions share counts once.
 */
export function listStoredBytes(db: Database, workspace_id: string): Promise<StoredBytes> {
  return db.get<StoredBytes>(sql`
    WITH ours AS (SELECT id FROM deployments WHERE workspace_id = ${workspace_id}),
      built AS (
        SELECT artifact_key, max(artifact_bytes) AS bytes, sum(log_bytes) AS log_bytes
        FROM ours JOIN revisions ON revisions.deployment_id = ours.id GROUP BY artifact_key
      )
    SELECT
      (SELECT coalesce(sum(bytes), 0) FROM ours JOIN uploads ON uploads.deployment_id = ours.id) AS uploads,
      (SELECT coalesce(sum(bytes), 0) FROM built) AS artifacts,
      coalesce(sum(bytes + file_bytes), 0) AS traces,
      coalesce(sum(payload_bytes), 0) AS payloads,
      coalesce(sum(attachment_bytes), 0) AS attachments,
      (SELECT coalesce(sum(log_bytes), 0) FROM built)
        + (SELECT coalesce(sum(bytes), 0) FROM ours JOIN agent_logs ON agent_logs.deployment_id = ours.id) AS logs
    FROM partitions WHERE workspace_id = ${workspace_id}
  `);
}

export function totalOf(stored: StoredBytes): number {
  return Object.values(stored).reduce((sum, bytes) => sum + bytes, 0);
}
