import type { Quota } from "../../../../control-plane/quotas/quota-schema.ts";
import type { StoredUsage } from "../../../../control-plane/usage/usage-schema.ts";
import { EditButton } from "../../../ui/blocks/item-buttons.tsx";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { Bytes } from "../../../ui/values.tsx";
import { METER_TEXTS } from "../../../workspace/meters.ts";
import { PeriodCell } from "./period-cell.tsx";

type Kind = { label: string; holds: string; bytes: number };
type Props = { stored: StoredUsage; quotas: Quota[]; onEdit: () => void };

/** Shows the stored bytes of the workspace and their quota, and then the kinds, the largest first. */
export function Stored({ stored, quotas, onEdit }: Props) {
  const own = quotas.filter(({ meter }) => meter === "stored_bytes");
  return (
    <Panel
      title={METER_TEXTS.stored_bytes.label}
      end={<EditButton label={`quota: ${METER_TEXTS.stored_bytes.label}`} onClick={onEdit} />}
      footer="Stored bytes follow by about a minute. States of threads and items of stores do not count."
    >
      <StoredTotal quotas={own} total={stored.total} />
      <DataTable
        label="Stored data by kind"
        columns={COLUMNS}
        rows={kindsOf(stored)}
        keyOf={({ label }) => label}
      />
    </Panel>
  );
}

export function StoredTotal({ quotas, total }: { quotas: Quota[]; total?: number }) {
  return (
    <div className="px-3.5 py-2">
      <PeriodCell meter="stored_bytes" period="total" quotas={quotas} used={total} />
    </div>
  );
}

function kindsOf({ uploads, artifacts, traces, payloads, attachments, logs }: StoredUsage): Kind[] {
  const kinds: Kind[] = [
    { label: "Traces", holds: "spans, feedback and their indexes", bytes: traces },
    { label: "Payloads", holds: "inputs and outputs over 250 KB", bytes: payloads },
    { label: "Attachments", holds: "files of spans", bytes: attachments },
    { label: "Artifacts", holds: "built code of revisions", bytes: artifacts },
    { label: "Uploads", holds: "sources sent by command-line tools", bytes: uploads },
    { label: "Logs", holds: "of builds and agents", bytes: logs },
  ];
  return kinds.toSorted((a, b) => b.bytes - a.bytes);
}

const COLUMNS: TableColumn<Kind>[] = [
  {
    id: "kind",
    header: "Kind",
    cell: ({ label, holds }) => (
      <>
        <span className="block m">{label}</span>
        <span className="block hint">{holds}</span>
      </>
    ),
  },
  {
    id: "bytes",
    header: "Stored",
    cell: ({ bytes }) => <Bytes value={bytes} />,
    isRightAligned: true,
    card: "end",
  },
];
