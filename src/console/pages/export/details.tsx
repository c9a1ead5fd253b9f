import type { BulkExport } from "../../../exports/schema.ts";
import { Icon } from "../../ui/icon.tsx";
import { Id } from "../../ui/values.tsx";

/** Settings of an export or a schedule. */
export function Details({ bulkExport }: { bulkExport: BulkExport }) {
  const { id, filter, export_fields, compression, format_version, late_rows, table_format } =
    bulkExport;
  return (
    <section className="panel" aria-label="Settings">
      <dl className="kv in-p">
        <dt>Filter</dt>
        <dd>{filter === null ? "all runs" : <code className="break-all">{filter}</code>}</dd>
        <dt>Columns</dt>
        <dd>{export_fields === null ? "all" : export_fields.join(", ")}</dd>
        <dt>Format</dt>
        <dd>
          Parquet, {compression}, {format_version}
        </dd>
        <dt>Table</dt>
        <dd>{table_format === null ? "none" : "Apache Iceberg"}</dd>
        <dt>Late rows</dt>
        <dd>{late_rows ? "carried by the next window" : "not carried"}</dd>
        <dt>Id</dt>
        <dd>
          <Id id={id} />
        </dd>
      </dl>
    </section>
  );
}

export function Failure({ error }: { error: string }) {
  return (
    <div className="note err" role="alert">
      <Icon name="status-failed" />
      <div className="grow">
        <div className="b">The export did not complete.</div>
        <div className="mono sm whitespace-pre-wrap break-words">{error}</div>
        <div className="mid sm mt-1">
          Correct the cause, then retry: written files are kept, and only the missing ones are
          written.
        </div>
      </div>
    </div>
  );
}
