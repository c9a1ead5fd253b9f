import type { Op } from "../../../isolate/contract.ts";
import { feedbackUrl } from "../../../traces/feedback/feedback-url-service.ts";
import type { StoredRun } from "../storage/run-rows.ts";

/** Returns the last event of a run with `feedback_keys`: a feedback URL for each key. */
export async function feedbackOps(env: Env, run: StoredRun): Promise<Op[]> {
  const { run_id, created_by, kwargs } = run;
  if (!kwargs.feedback_keys?.length) return [];
  const { workspace_id } = created_by.caller;
  const urls = await Promise.all(
    kwargs.feedback_keys.map(async (key) => [
      key,
      await feedbackUrl(env, created_by.origin, { workspace_id, run_id, key }),
    ]),
  );
  return [{ op: "event", event: "feedback", data: JSON.stringify(Object.fromEntries(urls)) }];
}
