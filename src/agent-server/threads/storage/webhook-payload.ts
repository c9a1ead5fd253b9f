import { Run } from "../run-schema.ts";
import type { StoredRun } from "./run-rows.ts";

/** JSON text of what a webhook is told, but for the time of its sending. Values are JSON text already. */
export function toWebhookPayload(run: StoredRun, values: string | null): string {
  const { error, started_at, ended_at } = run;
  const shown = {
    ...Run.parse(run),
    run_started_at: started_at === null ? null : new Date(started_at).toISOString(),
    run_ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
    error: error && { error: error.error, message: error.message },
  };
  return `${JSON.stringify(shown).slice(0, -1)},"values":${values ?? "null"}}`;
}
