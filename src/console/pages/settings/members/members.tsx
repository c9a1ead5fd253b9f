import { useState } from "react";
import type {
  WorkspaceMember,
  WorkspaceMembers,
} from "../../../../control-plane/workspaces/members/member-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { useMay } from "../../../api/session.ts";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { formatCount } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Time } from "../../../ui/values.tsx";
import { SectionHead } from "../frame/head.tsx";
import { AddMember } from "./add-member.tsx";
import { MEMBERS, MemberRole, RemoveMember } from "./member-actions.tsx";

type MemberRow = WorkspaceMember & { isPending: boolean };

export function Members() {
  const isAdmin = useMay("admin");
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <SectionHead
        title="Members"
        sub="People and their roles in this workspace."
        actions={
          isAdmin && (
            <button type="button" className="btn pri" onClick={() => setAdding(true)}>
              <Icon name="plus" /> Add member
            </button>
          )
        }
      />
      {isAdding && <AddMember onClose={() => setAdding(false)} />}
      {isAdmin ? (
        <MemberList />
      ) : (
        <Empty title="Members are for admins">
          Admins of the workspace see and change its members.
        </Empty>
      )}
    </>
  );
}

function MemberList() {
  const query = useApiQuery<WorkspaceMembers>(MEMBERS);
  return (
    <QueryState query={query} what="The members could not be read">
      {({ members, pending }) => {
        const rows: MemberRow[] = [
          ...members.map((each) => ({ ...each, isPending: false })),
          ...pending.map((each) => ({ ...each, isPending: true })),
        ];
        return (
          <Panel
            label="Members"
            footer={`${formatCount(rows.length, "member")}; admins of the organization have the role admin without being listed`}
          >
            {rows.length === 0 ? (
              <Empty title="No members">Add a person by email address.</Empty>
            ) : (
              <DataTable label="Members" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
            )}
          </Panel>
        );
      }}
    </QueryState>
  );
}

const COLUMNS: TableColumn<MemberRow>[] = [
  {
    id: "email",
    header: "Email",
    cell: ({ email, isPending }) => (
      <span className="row">
        <span className="m cut" title={email}>
          {email}
        </span>
        {isPending && <span className="tag">not accepted yet</span>}
      </span>
    ),
  },
  { id: "role", header: "Role", cell: (row) => <MemberRole member={row} />, card: "end" },
  {
    id: "added",
    header: "Added",
    cell: ({ created_at }) => <Time at={created_at} />,
    card: "hidden",
  },
  {
    id: "actions",
    header: <span className="sr">Actions</span>,
    cell: (row) => <RemoveMember member={row} />,
    isRightAligned: true,
    card: "full",
  },
];
