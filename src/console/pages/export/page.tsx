import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Destination } from "../../../exports/destination-schema.ts";
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
import { FirstRows } from "./first-rows.tsx";
import { Progress } from "./progress.tsx";
import { Manifest, ReadIt } from "./read-it.tsx";
import { ReadTable, ScheduleTable } from "./read-table.tsx";
import { Timeline, WindowTable } from "./schedule.tsx";

const route = getRouteApi("/w/$workspace/exports/$export");
const ABOVE = [{ label: "Exports", path: "/exports" }];
const ACTIVE_POLL_MS = 1000;
const POLL_MS = 10_000;

export function ExportPage() {
  const { export: id } = route.useParams();
  const polling = usePolling();
  const query = useApiQuery<BulkExport>(under(EXPORTS)`/${id}`, {
    poll: (bulkExport) => pollOf(bulkExport, polling),
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
        {(bulkExport) => (
          <>
            <Head bulkExport={bulkExport} title={title} />
            <div className="stack">
              {bulkExport.error !== null && <Failure error={bulkExport.error} />}
              {isSchedule(bulkExport) ? (
                <>
                  <Timeline schedule={bulkExport} isPaused={polling.isPaused} />
                  {bulkExport.table_format !== null && (
                    <ScheduleTable schedule={bulkExport} poll={pollOf(bulkExport, polling)} />
                  )}
                  <WindowTable schedule={bulkExport} isPaused={polling.isPaused} />
                </>
              ) : (
                <OneExport bulkExport={bulkExport} polling={polling} />
              )}
              <Details bulkExport={bulkExport} />
            </div>
          </>
        )}
      </QueryState>
    </>
  );
}

function pollOf(bulkExport: BulkExport | undefined, { isPaused }: Polling): number | false {
  if (isPaused) return false;
  return bulkExport === undefined || isExportActive(bulkExport) ? ACTIVE_POLL_MS : POLL_MS;
}

function Head({ bulkExport, title }: { bulkExport: BulkExport; title: string }) {
  const { data: destinations } = useDestinations();
  const { bulk_export_destination_id } = bulkExport;
  return (
    <PageHeader
      title={title}
      facts={<ExportStatus bulkExport={bulkExport} />}
      sub={
        <span className="row wrap">
          <span>{`Runs ${rangeText(bulkExport)}, UTC`}</span>
          {isSchedule(bulkExport) && <span>every {bulkExport.interval_hours} h</span>}
          {destinations && (
            <code className="sm break-all">{urlOf(destinations, bulk_export_destination_id)}</code>
          )}
        </span>
      }
      actions={<ExportActions bulkExport={bulkExport} />}
    />
  );
}

function urlOf(destinations: Destination[], id: string): string {
  const destination = destinations.find((each) => each.id === id);
  return destination ? bucketUrl(destination) : "a deleted destination";
}

function OneExport({ bulkExport, polling }: { bulkExport: BulkExport; polling: Polling }) {
  const poll = isExportActive(bulkExport) && pollOf(bulkExport, polling);
  const manifest = useApiQuery<BulkExportManifest>(under(EXPORTS)`/${bulkExport.id}/manifest`, {
    poll,
  });
  useReadAgainAtEnd(bulkExport);
  const isDone = bulkExport.status === "COMPLETED";
  return (
    <>
      {bulkExport.progress && <Progress bulkExport={bulkExport} progress={bulkExport.progress} />}
      {isDone && <FirstRows id={bulkExport.id} />}
      <div className="g2 g2-even">
        <div className="stack">
          <DayChart id={bulkExport.id} poll={poll} />
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
      {bulkExport.source_bulk_export_id !== null && (
        <SourceSchedule
          id={bulkExport.source_bulk_export_id}
          bulkExport={bulkExport}
          polling={polling}
        />
      )}
    </>
  );
}

/** Reads the files, the days and the manifest again when the status changes: polling ends with the export. */
function useReadAgainAtEnd({ id, status }: BulkExport): void {
  const invalidate = useRef(useInvalidate());
  const former = useRef(status);
  useEffect(() => {
    if (former.current === status) return;
    former.current = status;
    void invalidate.current(under(EXPORTS)`/${id}/`);
  }, [id, status]);
}

type SourceProps = { id: string; bulkExport: BulkExport; polling: Polling };

function SourceSchedule({ id, bulkExport, polling }: SourceProps) {
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
      <Timeline schedule={schedule} isPaused={polling.isPaused} current={bulkExport.id} />
    </section>
  );
}
