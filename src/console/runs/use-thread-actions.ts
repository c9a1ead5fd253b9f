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
  /** The newest run that the person saw. The service refuses what was decided before another one. */
  after_run_id?: string;
};

type StateEdit = { values: unknown; as_node?: string | undefined; checkpoint_id?: string };

export type CancelMode = "interrupt" | "rollback";

/** Changes of a thread. Each reads the thread again after the service answered. */
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
