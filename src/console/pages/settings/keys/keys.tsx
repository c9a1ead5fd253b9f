import { useState } from "react";
import type { ApiKey } from "../../../../control-plane/workspaces/keys/key-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import type { ApiPath } from "../../../api/path.ts";
import { useMay, useMe } from "../../../api/session.ts";
import { ShownOnce } from "../../../ui/blocks/shown-once.tsx";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Time, useNow } from "../../../ui/values.tsx";
import { SectionHead } from "../frame/head.tsx";
import { KeyActions } from "./key-actions.tsx";
import { expiryText, keyName, type MarkedText, usageText } from "./key-age.ts";
import { KEYS, type NewSecret, PERSONAL_KEYS } from "./key-paths.ts";
import { NewKey } from "./new-key.tsx";

/** Service keys for admins, and the personal keys of a user. */
export function Keys() {
  const isAdmin = useMay("admin");
  const isUser = useMe().actor.type === "user";
  const [creating, setCreating] = useState<ApiPath | null>(null);
  const [made, setMade] = useState<NewSecret | null>(null);
  return (
    <>
      <SectionHead
        title="Keys"
        sub="A service key has its own role. A personal key may do what its user may."
        actions={
          <>
            {isUser && (
              <button type="button" className="btn" onClick={() => setCreating(PERSONAL_KEYS)}>
                <Icon name="plus" /> New personal key
              </button>
            )}
            {isAdmin && (
              <button type="button" className="btn pri" onClick={() => setCreating(KEYS)}>
                <Icon name="plus" /> New key
              </button>
            )}
          </>
        }
      />
      {made && (
        <ShownOnce
          title={made.title}
          secret={made.secret}
          label="Copy key"
          onClose={() => setMade(null)}
        />
      )}
      {creating !== null && (
        <NewKey path={creating} onMade={setMade} onClose={() => setCreating(null)} />
      )}
      <div className="stack">
        {isAdmin ? (
          <KeyList path={KEYS} title="Service keys" onSecret={setMade} />
        ) : (
          <Empty title="Service keys are for admins">
            Admins of the workspace create and revoke them.
          </Empty>
        )}
        {isUser && <KeyList path={PERSONAL_KEYS} title="Your personal keys" onSecret={setMade} />}
      </div>
    </>
  );
}

type ListProps = { path: ApiPath; title: string; onSecret: (made: NewSecret) => void };

function KeyList({ path, title, onSecret }: ListProps) {
  const query = useApiQuery<ApiKey[]>(path);
  const now = useNow();
  const columns: TableColumn<ApiKey>[] = [
    {
      id: "name",
      header: "Name",
      cell: (key) => <span className="m break-words">{keyName(key)}</span>,
    },
    {
      id: "key",
      header: "Begins with",
      cell: ({ short_key }) => <code>{short_key}</code>,
      card: "full",
    },
    { id: "role", header: "Role", cell: ({ role }) => role ?? "as its user", card: "end" },
    {
      id: "used",
      header: "Last used",
      cell: (key) => <Marked value={usageText(key, now)} />,
      card: "hidden",
    },
    {
      id: "made",
      header: "Created",
      cell: ({ created_at }) => <Time at={created_at} />,
      card: "hidden",
    },
    {
      id: "expires",
      header: "Expires",
      cell: (key) => <Marked value={expiryText(key, now)} label="expires" />,
      card: "full",
    },
    {
      id: "actions",
      header: <span className="sr">Actions</span>,
      cell: (key) => <KeyActions path={path} apiKey={key} onSecret={onSecret} />,
      isRightAligned: true,
      card: "full",
    },
  ];
  return (
    <QueryState query={query} what="The keys could not be read">
      {(keys) => (
        <Panel
          title={title}
          footer="A revoked key stops within 10 s, and so do the console sessions opened with it."
        >
          {keys.length === 0 ? (
            <Empty title="No keys">A key lets a program or a person use the API.</Empty>
          ) : (
            <DataTable label={title} columns={columns} rows={keys} keyOf={({ id }) => id} />
          )}
        </Panel>
      )}
    </QueryState>
  );
}

/** @param label shown before the value on a phone, where the columns have no headers */
function Marked({ value: { text, isMarked }, label }: { value: MarkedText; label?: string }) {
  return (
    <span className={isMarked ? "wait m nw" : "nw"}>
      {label && <span className="only-m">{label} </span>}
      {text}
    </span>
  );
}
