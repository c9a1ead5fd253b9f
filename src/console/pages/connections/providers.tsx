import { useState } from "react";
import type { Provider } from "../../../control-plane/oauth/provider-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { PROVIDERS, TOKENS } from "./paths.ts";
import { ProviderForm } from "./provider-form.tsx";
import { RemoveButton } from "./remove.tsx";

/** OAuth clients of the workspace. */
export function Providers() {
  const query = useApiQuery<Provider[]>(PROVIDERS);
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
  return (
    <QueryState query={query} what="The OAuth providers could not be read" rows={2}>
      {(rows) => (
        <Panel
          title="OAuth providers"
          end={
            mayWrite && (
              <button type="button" className="btn sm" onClick={() => setOpen(true)}>
                <Icon name="plus" small /> New provider
              </button>
            )
          }
          footer={formatCount(rows.length, "provider")}
        >
          {rows.length === 0 ? (
            <Empty title="No OAuth providers">
              With a provider, people connect their accounts, and agents act with their consent.
            </Empty>
          ) : (
            <DataTable
              label="OAuth providers"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
            />
          )}
          {isOpen && <ProviderForm onClose={() => setOpen(false)} />}
        </Panel>
      )}
    </QueryState>
  );
}

const COLUMNS: TableColumn<Provider>[] = [
  { id: "name", header: "Name", cell: ({ name }) => <span className="m break-words">{name}</span> },
  { id: "id", header: "Id", cell: ({ provider_id }) => <code>{provider_id}</code>, card: "full" },
  {
    id: "kind",
    header: "Kind",
    cell: ({ provider_type, mcp_server_url }) =>
      provider_type ?? (mcp_server_url === null ? "OAuth" : "MCP server"),
    card: "end",
  },
  {
    id: "host",
    header: "Consents at",
    cell: ({ auth_url }) => (
      <code className="sm cut block max-w-90" title={auth_url}>
        {auth_url}
      </code>
    ),
    card: "hidden",
  },
  {
    id: "actions",
    header: <span className="sr">Actions</span>,
    cell: (provider) => <Actions provider={provider} />,
    isRightAligned: true,
    card: "full",
  },
];

function Actions({ provider }: { provider: Provider }) {
  const { name, provider_id } = provider;
  const [isOpen, setOpen] = useState(false);
  const mayWrite = useMay("write");
  return (
    <span className="row justify-end">
      {mayWrite && (
        <button
          type="button"
          className="btn sm"
          aria-label={`Edit ${name}`}
          onClick={() => setOpen(true)}
        >
          Edit
        </button>
      )}
      {isOpen && <ProviderForm provider={provider} onClose={() => setOpen(false)} />}
      <RemoveButton
        action="delete"
        name={provider_id}
        path={under(PROVIDERS)`/${provider_id}`}
        invalidates={[PROVIDERS, TOKENS]}
        act="Delete provider"
      >
        All tokens that people have of it are revoked and deleted. Agents can no longer act with
        them.
      </RemoveButton>
    </span>
  );
}
