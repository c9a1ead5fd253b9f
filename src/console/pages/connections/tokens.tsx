import type { TokenSummary } from "../../../control-plane/oauth/token-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatCount } from "../../ui/formats.ts";
import { Empty, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { TOKENS } from "./paths.ts";
import { Remove } from "./remove.tsx";

const PAGE = 200;

/** Lists the accounts that the person has connected. The API returns no accounts of others. */
export function Tokens() {
  const query = useApiQuery<TokenSummary[]>(TOKENS, { query: { limit: PAGE } });
  return (
    <QueryState query={query} what="Your accounts could not be read" rows={2}>
      {(rows) => (
        <Panel
          title="Your connected accounts"
          footer={rows.length < PAGE ? formatCount(rows.length, "account") : `The first ${PAGE}`}
        >
          {rows.length === 0 ? (
            <Empty title="No connected accounts">
              When an agent needs an account of yours, it shows a link for your consent.
            </Empty>
          ) : (
            <DataTable
              label="Your connected accounts"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
            />
          )}
        </Panel>
      )}
    </QueryState>
  );
}

const COLUMNS: TableColumn<TokenSummary>[] = [
  {
    id: "account",
    header: "Account",
    cell: (token) => (
      <span className="row">
        <span className="m cut">{nameOf(token)}</span>
        {token.is_default && <span className="tag">default</span>}
      </span>
    ),
  },
  {
    id: "provider",
    header: "Provider",
    cell: ({ provider_id }) => <code>{provider_id}</code>,
    card: "full",
  },
  {
    id: "scopes",
    header: "Scopes",
    cell: ({ scopes }) => <span className="break-words">{scopes.join(", ") || "none"}</span>,
    card: "full",
  },
  {
    id: "expires",
    header: "Access expires",
    cell: ({ expires_at }) => (expires_at === null ? "not stated" : <Time at={expires_at} exact />),
    card: "end",
  },
  {
    id: "actions",
    header: <span className="sr">Actions</span>,
    cell: (token) => (
      <Remove
        name={nameOf(token)}
        path={under(TOKENS)`/${token.id}`}
        invalidates={[TOKENS]}
        act="Revoke account"
      >
        The token is revoked at its provider, then deleted. Agents can no longer act with this
        account.
      </Remove>
    ),
    isRightAligned: true,
    card: "full",
  },
];

function nameOf({ provider_account_label, provider_id }: TokenSummary): string {
  return provider_account_label ?? provider_id;
}
