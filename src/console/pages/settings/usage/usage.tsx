import { useState } from "react";
import type {
  Meter,
  Quota,
  QuotaList,
  WorkMeter,
} from "../../../../control-plane/quotas/quota-schema.ts";
import type { UsageDays } from "../../../../control-plane/usage/usage-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { LiveControl, usePolling } from "../../../shell/live-control.tsx";
import { ZONE } from "../../../state/time-zone.ts";
import { EditButton } from "../../../ui/blocks/item-buttons.tsx";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Time } from "../../../ui/values.tsx";
import {
  isUsedUp,
  METER_TEXTS,
  PERIOD_TEXTS,
  QUOTAS,
  WORK_METERS,
} from "../../../workspace/meters.ts";
import { SectionHead } from "../frame/head.tsx";
import { DailyUsage } from "./daily-usage.tsx";
import { monthNow, rangeOf } from "./months.ts";
import { PeriodCell } from "./period-cell.tsx";
import { QuotaForm } from "./quota-form.tsx";
import { Stored, StoredTotal } from "./stored.tsx";

const POLL_MS = 10_000;

/** Shows the usage of the current day and month with its quotas, and the usage by day. */
export function Usage() {
  const isAdmin = useMay("admin");
  const polling = usePolling();
  const poll = polling.isPaused ? false : POLL_MS;
  const query = useApiQuery<QuotaList>(QUOTAS, { poll });
  return (
    <>
      <SectionHead
        title="Usage and quotas"
        sub="Work of this workspace by UTC day and calendar month. Over a quota new work is refused."
        live={<LiveControl polling={polling} query={query} title="Read every 10 s" />}
      />
      <QueryState query={query} what="The quotas could not be read">
        {({ quotas }) => (
          <div className="stack">
            {quotas.filter(isUsedUp).map((quota) => (
              <UsedUp key={`${quota.meter}/${quota.period}/${quota.set_by}`} quota={quota} />
            ))}
            {isAdmin ? (
              <AdminMeters quotas={quotas} poll={poll} />
            ) : (
              <QuotaMeters quotas={quotas} />
            )}
          </div>
        )}
      </QueryState>
    </>
  );
}

function UsedUp({ quota: { meter, period, limit, used, set_by, resets_at } }: { quota: Quota }) {
  const { label, refused, format } = METER_TEXTS[meter];
  const who = set_by === "admin" ? "An admin of the workspace" : "Only the operator";
  return (
    <section className="note err" aria-label={`Quota reached: ${label}`}>
      <Icon name="status-failed" />
      <div className="grow">
        <div className="b">
          Quota reached: {label}, {format(used)} of {format(limit)} {PERIOD_TEXTS[period].per}.
        </div>
        <div className="mid sm">
          {refused}{" "}
          {resets_at !== null && (
            <>
              It resets at <Time at={resets_at} exact /> {ZONE}.{" "}
            </>
          )}
          {who} can raise it.
        </div>
      </div>
    </section>
  );
}

/** Lists the meters that have a quota, for roles that may not read the whole usage. */
function QuotaMeters({ quotas }: { quotas: Quota[] }) {
  const limited = WORK_METERS.filter((meter) => quotas.some((quota) => quota.meter === meter));
  const stored = quotas.filter(({ meter }) => meter === "stored_bytes");
  return (
    <Panel title="Quotas" footer="Admins of the workspace set quotas and read its whole usage.">
      {quotas.length === 0 && (
        <Empty title="No quotas">Nothing limits the work of this workspace.</Empty>
      )}
      {limited.length > 0 && <MeterTable quotas={quotas} meters={limited} />}
      {stored.length > 0 && <StoredTotal quotas={stored} />}
    </Panel>
  );
}

function AdminMeters({ quotas, poll }: { quotas: Quota[]; poll: number | false }) {
  const [edited, setEdited] = useState<Meter | null>(null);
  const query = useApiQuery<UsageDays>(apiPath`/v1/usage`, { query: rangeOf(monthNow()), poll });
  return (
    <>
      <QueryState query={query} what="The usage could not be read">
        {({ days, stored }) => (
          <>
            <Panel
              title="Current usage"
              footer="Runs and spans follow by about ten seconds. A quota takes effect within a minute."
            >
              <MeterTable quotas={quotas} meters={WORK_METERS} days={days} onEdit={setEdited} />
            </Panel>
            <Stored stored={stored} quotas={quotas} onEdit={() => setEdited("stored_bytes")} />
          </>
        )}
      </QueryState>
      <DailyUsage />
      {edited !== null && (
        <QuotaForm meter={edited} quotas={quotas} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

type TableProps = {
  quotas: Quota[];
  meters: WorkMeter[];
  /** Days of the current month, the oldest first. */
  days?: UsageDays["days"];
  onEdit?: (meter: Meter) => void;
};

function MeterTable({ quotas, meters, days, onEdit }: TableProps) {
  const period = (name: "day" | "month"): TableColumn<WorkMeter> => ({
    id: name,
    header: PERIOD_TEXTS[name].label,
    cell: (meter) => (
      <PeriodCell
        meter={meter}
        period={name}
        quotas={quotas.filter((quota) => quota.meter === meter && quota.period === name)}
        used={days && usedOf(meter, name, days)}
      />
    ),
    card: "full",
    width: "34%",
  });
  const columns: TableColumn<WorkMeter>[] = [
    {
      id: "meter",
      header: "Meter",
      cell: (meter) => (
        <div className="md:py-2">
          <span className="block m">{METER_TEXTS[meter].label}</span>
          <span className="block hint">{METER_TEXTS[meter].counts}</span>
        </div>
      ),
    },
    period("day"),
    period("month"),
  ];
  if (onEdit) {
    columns.push({
      id: "edit",
      header: <span className="sr">Actions</span>,
      cell: (meter) => (
        <EditButton label={`quota: ${METER_TEXTS[meter].label}`} onClick={() => onEdit(meter)} />
      ),
      isRightAligned: true,
      card: "end",
    });
  }
  return (
    <DataTable label="Usage by meter" columns={columns} rows={meters} keyOf={(each) => each} />
  );
}

function usedOf(meter: WorkMeter, period: "day" | "month", days: UsageDays["days"]): number {
  const counted = period === "day" ? days.slice(-1) : days;
  return counted.reduce((sum, day) => sum + day[meter], 0);
}
