import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { BulkExportManifest } from "../../../exports/preview/preview-schema.ts";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery, useInvalidate, useWorkspaceId } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { isExportActive, isSchedule } from "../../exports/export-status.ts";
import { bucketUrl, EXPORTS, useDestinations, useProjectNames } from "../../exports/names.ts";
import { ExportStatus } from "../../exports/table.tsx";
import { exportName, rangeText } from "../../exports/windows.ts";
import { LiveControl, type Polling, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { PageHeader } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { ExportActions } from "./actions.tsx";
import { DayChart } from "./day-chart.tsx";
import { Details, Failure } from "./details.tsx";
import { Files } from "./files.tsx";
import { Progress } from "./progress.tsx";
import { Manifest, ReadIt } from "./read-it.tsx";
import { ReadTable, ScheduleTable } from "./read-table.tsx";
import { FirstRows } from "./rows.tsx";
import { Timeline, WindowTable } from "./schedule.tsx";

const route = getRouteApi("/w/$workspace/exports/$export");
const ABOVE = [{ label: "Exports", path: "/exports" }];
const ACTIVE_POLL_MS = 1000;
const POLL_MS = 10_000;

export function ExportPage() {
  const { export: id } = route.useParams();
  const polling = usePolling();
  const query = useApiQuery<BulkExport>(under(EXPORTS)`/${id}`, {
    poll: (order) => pollOf(order, polling),
  });
  const projectOf = useProjectNames(query.data ? [query.data] : []);
  const title = query.data ? exportName(query.data, projectOf(query.data.session_id)) : "Export";
  return (
    <>
      <TopBar above={ABOVE} title={title}>
        <LiveControl
          polling={polling}
          query={query}
          title="Read every second while the export is at work, otherwise every 10 s"
        />
      </TopBar>
      <QueryState query={query} what="The export could not be read">
        {(order) => (
          <>
            <Head order={order} title={title} />
            <div className="stack">
              {order.error !== null && <Failure error={order.error} />}
              {isSchedule(order) ? (
                <>
                  <Timeline schedule={order} isPaused={polling.isPaused} />
                  {order.table_format !== null && (
                    <ScheduleTable schedule={order} poll={pollOf(order, polling)} />
                  )}
                  <WindowTable schedule={order} isPaused={polling.isPaused} />
                </>
              ) : (
                <OneExport order={order} polling={polling} />
              )}
              <Details order={order} />
            </div>
          </>
        )}
      </QueryState>
    </>
  );
}

function pollOf(order: BulkExport | undefined, { isPaused }: Polling): number | false {
  if (isPaused) return false;
  return order === undefined || isExportActive(order) ? ACTIVE_POLL_MS : POLL_MS;
}

function Head({ order, title }: { order: BulkExport; title: string }) {
  const { data: destinations = [] } = useDestinations();
  const to = destinations.find(({ id }) => id === order.bulk_export_destination_id);
  return (
    <PageHeader
      title={title}
      facts={<ExportStatus order={order} />}
      sub={
        <span className="row wrap">
          <span>{`Runs ${rangeText(order)}, UTC`}</span>
          {isSchedule(order) && <span>every {order.interval_hours} h</span>}
          <code className="sm break-all">{to ? bucketUrl(to) : "a deleted destination"}</code>
        </span>
      }
      actions={<ExportActions order={order} />}
    />
  );
}

function OneExport({ order, polling }: { order: BulkExport; polling: Polling }) {
  const poll = isExportActive(order) && pollOf(order, polling);
  const manifest = useApiQuery<BulkExportManifest>(under(EXPORTS)`/${order.id}/manifest`, { poll });
  useReadAgainAtEnd(order);
  const isDone = order.status === "COMPLETED";
  return (
    <>
      {order.progress && <Progress order={order} progress={order.progress} />}
      {isDone && <FirstRows id={order.id} />}
      <div className="g2 g2-even">
        <div className="stack">
          <DayChart id={order.id} poll={poll} />
          <QueryState query={manifest} what="The manifest could not be read">
            {(data) => <Files manifest={data} isDone={isDone} />}
          </QueryState>
        </div>
        <QueryState query={manifest} what="The manifest could not be read">
          {(data) => (
            <div className="stack">
              {data.table !== null && <ReadTable table={data.table} />}
              <ReadIt manifest={data} />
              <Manifest manifest={data} isDone={isDone} />
            </div>
          )}
        </QueryState>
      </div>
      {order.source_bulk_export_id !== null && (
        <SourceSchedule id={order.source_bulk_export_id} order={order} polling={polling} />
      )}
    </>
  );
}

/** Reads the data once more when polling ends. */
function useReadAgainAtEnd({ id, status }: BulkExport): void {
  const invalidate = useRef(useInvalidate());
  const former = useRef(status);
  useEffect(() => {
    if (former.current === status) return;
    former.current = status;
    void invalidate.current(under(EXPORTS)`/${id}/`);
  }, [id, status]);
}

type SourceProps = { id: string; order: BulkExport; polling: Polling };

function SourceSchedule({ id, order, polling }: SourceProps) {
  const workspace = useWorkspaceId();
  const { data: schedule } = useApiQuery<BulkExport>(under(EXPORTS)`/${id}`);
  if (schedule === undefined) return null;
  return (
    <section className="stack" aria-label="Schedule it belongs to">
      <div className="row">
        <h2>Schedule it belongs to</h2>
        <span className="dim">every {schedule.interval_hours} h</span>
        <Link to={pathTo(workspace, `/exports/${id}`)} className="push btn sm">
          Open schedule
        </Link>
      </div>
      <Timeline schedule={schedule} isPaused={polling.isPaused} current={order.id} />
    </section>
  );
}
