import { getRouteApi } from "@tanstack/react-router";
import type { z } from "zod";
import type {
  Assistant,
  AssistantGraph,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import type { ThreadView } from "../../runs/use-thread.ts";
import { QueryState } from "../../ui/states.tsx";
import { GraphView } from "./graph-view.tsx";
import type { Target } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

type Graph = z.infer<typeof AssistantGraph>;
type Props = { target: Target; assistant: Assistant; view: ThreadView };

/** Draws the graph of the assistant, with the state of each node in the run that is followed. */
export function GraphPanel({ target, assistant, view }: Props) {
  const { xray } = route.useSearch();
  const navigate = route.useNavigate();
  const path = agentPath(target.ref)`/assistants/${assistant.assistant_id}/graph`;
  const query = useApiQuery<Graph>(path, {
    query: { xray: xray ?? false },
    keepPrevious: true,
  });
  return (
    <section aria-label="Graph" className="graph-box">
      <div className="ph2">
        <h2>Graph</h2>
        <label className="row sm dim push">
          <input
            type="checkbox"
            checked={xray === true}
            onChange={(event) =>
              void navigate({
                search: (former) => ({ ...former, xray: event.target.checked || undefined }),
                replace: true,
              })
            }
          />
          Subgraphs
        </label>
      </div>
      <QueryState query={query} what="The graph could not be drawn" rows={3}>
        {(graph) => (
          <GraphView name={assistant.graph_id} graph={graph} nodes={view.stream.live.nodes} />
        )}
      </QueryState>
    </section>
  );
}
