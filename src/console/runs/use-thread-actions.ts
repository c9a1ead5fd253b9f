import { useApiChange } from "../api/hooks.ts";
import { under } from "../api/path.ts";
import { type RunItem, STREAMED, threadPath } from "./stream/agent.ts";

export type RunStart = {
  assistant_id: string;
  input?: unknown;
  command?: { resume: unknown };
  checkpoint_id?: string | undefined;
  multitask_strategy?: RunItem["multitask_strategy"];
  if_not_exists?: "create";
  /** The newest run that the person saw. The service refuses the request with 409 when a newer run exists. */
  after_run_id?: string;
};

type StateEdit = { values: unknown; as_node?: string | undefined; checkpoint_id?: string };

export type CancelMode = "interrupt" | "rollback";

/** Returns the changes of a thread. Each one invalidates the reads of the thread, also when it failed. */
export function useThreadActions(deployment: string, thread_id: string) {
  const path = threadPath(deployment, thread_id)``;
  const invalidates = [path];
  const start = useApiChange<RunStart, RunItem>({
    path: under(path)`/runs`,
    body: ({ after_run_id: _, ...run }) => ({ ...run, ...STREAMED }),
    headers: ({ after_run_id }) => (after_run_id ? { "If-Match": after_run_id } : {}),
    invalidates,
  });
  const cancel = useApiChange<{ run_id: string; action: CancelMode }>({
    path: ({ run_id }) => under(path)`/runs/${run_id}/cancel`,
    query: ({ action }) => ({ wait: true, action }),
    invalidates,
  });
  const edit = useApiChange<StateEdit>({
    path: under(path)`/state`,
    body: (update) => update,
    invalidates,
  });
  return { start, cancel, edit };
}
