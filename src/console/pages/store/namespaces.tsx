import { getRouteApi } from "@tanstack/react-router";
import type { z } from "zod";
import type { Namespaces } from "../../../agent-server/store/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { formatCount } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";

type NamespacesPage = z.infer<typeof Namespaces>;

const route = getRouteApi("/w/$workspace/store");
const POLL_MS = 10_000;
const PAGE = 200;

type Props = { deployment: string; isPaused: boolean };

export function NamespaceList({ deployment, isPaused }: Props) {
  const { ns } = route.useSearch();
  const query = useApiQuery<NamespacesPage>(apiPath`/agents/${deployment}/store/namespaces`, {
    post: { limit: PAGE },
    poll: isPaused ? false : POLL_MS,
  });
  return (
    <QueryState query={query} what="The namespaces could not be read">
      {({ namespaces }) => (
        <Panel title="Namespaces" footer={countText(namespaces.length)}>
          <ul className="max-h-[60vh] overflow-y-auto">
            {[[], ...namespaces].map((labels) => {
              const name = labels.join(".");
              return (
                <li key={name}>
                  <route.Link
                    to="."
                    search={({ deployment: id }) => ({ deployment: id, ns: name || undefined })}
                    className="rev"
                    activeOptions={{ explicitUndefined: true }}
                    aria-current={(ns ?? "") === name || undefined}
                  >
                    {labels.length === 0 ? "All items" : <code className="break-all">{name}</code>}
                  </route.Link>
                </li>
              );
            })}
          </ul>
        </Panel>
      )}
    </QueryState>
  );
}

function countText(count: number): string {
  return count < PAGE ? formatCount(count, "namespace") : `The first ${PAGE} namespaces by name`;
}
