/** Times since which the oldest work of each kind waits, `null` when none does. */
export type OldestWork = {
  build_age: string | null;
  export_age: string | null;
  export_file_age: string | null;
  export_window_age: string | null;
  webhook_age: string | null;
  project_deletion_age: string | null;
};

/**
 * Ages do not count from `sent_at`, which a sweep renews each minute. Windows of schedules are the exception: a
 * schedule that waits for a quota stays due for long, so its age counts from the last check by a sweep.
 *
 * Work that waits its turn does not count:
 * - builds, while two others of the workspace have a lease, which is `MAX_BUILDS_AT_ONCE`. Others age from their last claim
 *   or change of status;
 * - exports, while another export of the workspace runs;
 * - files that were never claimed: they wait for other files of their export;
 * - webhooks, while an attempt of the workspace has a lease.
 *
 * Each subquery reads an index of unfinished work. `?1` is the current time.
 */
export const OLDEST_WORK = `
  SELECT
    (SELECT min(updated_at) FROM revisions
      WHERE status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
        AND (lease_expires_at > ?1 OR workspace_id NOT IN (
          SELECT workspace_id FROM revisions
          WHERE status IN ('BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING') AND lease_expires_at > ?1
          GROUP BY workspace_id HAVING count(*) >= 2))
    ) AS build_age,
    (SELECT min(max(updated_at, coalesce(next_attempt_at, ''))) FROM bulk_exports e
      WHERE status = 'CREATED' AND coalesce(next_attempt_at, '') <= ?1 AND NOT EXISTS (
        SELECT 1 FROM bulk_exports r WHERE r.status = 'RUNNING' AND r.workspace_id = e.workspace_id)
    ) AS export_age,
    (SELECT min(max(coalesce(lease_expires_at, ''), coalesce(next_attempt_at, ''))) FROM bulk_export_files f
      WHERE status IN ('WAITING', 'RUNNING') AND sent_at IS NOT NULL
        AND (lease_expires_at IS NOT NULL OR next_attempt_at IS NOT NULL)
        AND coalesce(lease_expires_at, '') <= ?1 AND coalesce(next_attempt_at, '') <= ?1
        AND EXISTS (SELECT 1 FROM bulk_exports e WHERE e.id = f.bulk_export_id AND e.status = 'RUNNING')
    ) AS export_file_age,
    (SELECT min(max(next_window_at, coalesce(sent_at, ''))) FROM bulk_exports
      WHERE status = 'INTERVAL_SCHEDULED' AND next_window_at <= ?1
    ) AS export_window_age,
    (SELECT due_at FROM run_webhooks
      WHERE status = 'pending' AND due_at <= ?1 AND coalesce(lease_expires_at, '') <= ?1
        AND workspace_id NOT IN (
          SELECT workspace_id FROM run_webhooks WHERE status = 'pending' AND lease_expires_at > ?1)
      ORDER BY due_at LIMIT 1
    ) AS webhook_age,
    (SELECT min(deleted_at) FROM projects WHERE deleted_at IS NOT NULL) AS project_deletion_age`;
