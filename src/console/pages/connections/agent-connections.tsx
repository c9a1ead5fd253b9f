import { getRouteApi } from "@tanstack/react-router";
import type { ConnectionsList } from "../../../control-plane/oauth/token-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { formatCount } from "../../ui/formats.ts";
import { Empty, Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { agentConnectionsPath } from "./paths.ts";
import { Remove } from "./remove.tsx";

const route = getRouteApi("/w/$workspace/connections");

/** Lists the accounts of the person that one agent may use. */
export function AgentConnections() {
  const { agent } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Panel
      title="Accounts that an agent may use"
      end={
        <SearchField
          label="Id of the agent"
          value={agent ?? ""}
          onChange={(text) =>
            void navigate({ search: { agent: text.trim() || undefined }, replace: true })
          }
        />
      }
    >
      {agent === undefined ? (
        <p className="in-p dim">Enter the id that the agent has in its requests for tokens.</p>
      ) : (
        <OfAgent agent={agent} />
      )}
    </Panel>
  );
}

function OfAgent({ agent }: { agent: string }) {
  const path = agentConnectionsPath(agent);
  const query = useApiQuery<ConnectionsList>(path);
  return (
    <QueryState query={query} what="The connections could not be read" rows={2}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No account is connected to this agent">
            Accounts that you connect to an agent are listed here.
          </Empty>
        ) : (
          <>
            <ul aria-label="Connections">
              {data.map(({ id, provider_id, provider_account_label, created_at }) => (
                <li key={id} className="in-p border-b border-line-soft row wrap">
                  <span className="m break-words">{provider_account_label ?? provider_id}</span>
                  <code className="dim sm">{provider_id}</code>
                  <span className="dim sm">
                    <Time at={created_at} />
                  </span>
                  <span className="push">
                    <Remove
                      name={provider_account_label ?? provider_id}
                      path={under(path)`/${id}`}
                      invalidates={[path]}
                      act="Disconnect account"
                    >
                      This agent no longer acts with the account. The account stays connected.
                    </Remove>
                  </span>
                </li>
              ))}
            </ul>
            <footer className="in-p dim sm">{formatCount(data.length, "connection")}</footer>
          </>
        )
      }
    </QueryState>
  );
}
