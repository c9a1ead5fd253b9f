import type { z } from "zod";
import type { ThreadStatusCounts } from "../../../agent-server/threads/contract/requests/thread-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { showThread } from "../../runs/stream/run-status.ts";
import { formatNumber } from "../../ui/formats.ts";
import type { ThreadsSearch } from "./search.ts";

type Counts = z.infer<typeof ThreadStatusCounts>;
type AllCounts = Counts & { all: number };

/** Returns the numbers of threads by status that match the filter, independent of the chosen status. */
export function useCounts(
  deployment: string,
  filter: object,
  poll: number | false,
): AllCounts | undefined {
  const { data } = useApiQuery<Counts>(agentPath(deployment)`/threads/count_by_status`, {
    post: filter,
    poll,
    keepPrevious: true,
  });
  return data && { ...data, all: data.idle + data.busy + data.interrupted + data.error };
}

const STATUSES = ["interrupted", "busy", "error", "idle"] as const;

type Props = {
  counts: AllCounts | undefined;
  status: ThreadsSearch["status"];
  onChange: (status: ThreadsSearch["status"]) => void;
};

export function StatusFilter({ counts, status, onChange }: Props) {
  const count = (name: keyof AllCounts) => (counts ? formatNumber(counts[name]) : "");
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would lay out its buttons in another way
    <div className="seg" role="group" aria-label="Status">
      <button type="button" aria-pressed={status === undefined} onClick={() => onChange(undefined)}>
        All {count("all")}
      </button>
      {STATUSES.map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={status === each}
          onClick={() => onChange(each)}
        >
          {showThread({ status: each }).word} {count(each)}
        </button>
      ))}
    </div>
  );
}
