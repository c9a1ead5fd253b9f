import { getRouteApi } from "@tanstack/react-router";
import type { BulkExportManifest } from "../../../exports/preview/preview-schema.ts";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { EXPORTS } from "../../exports/names.ts";
import { CodeBlock } from "../../ui/blocks/code-block.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { TABLE_READERS } from "./search.ts";

const route = getRouteApi("/w/$workspace/exports/$export");
const NAMES = {
  duckdb: "DuckDB",
  athena: "Athena",
  snowflake: "Snowflake",
  bigquery: "BigQuery",
  spark: "Spark",
} as const;

type Props = { table: NonNullable<BulkExportManifest["table"]> };

/** Shows how to read the table of a schedule in its newest state. */
export function ScheduleTable({ schedule, poll }: { schedule: BulkExport; poll: number | false }) {
  const manifest = useApiQuery<BulkExportManifest>(under(EXPORTS)`/${schedule.id}/manifest`, {
    poll,
  });
  return (
    <QueryState query={manifest} what="The table could not be read">
      {({ table }) => table !== null && <ReadTable table={table} />}
    </QueryState>
  );
}

/** Shows the statements that read a table: its newest state, or its state after a window. */
export function ReadTable({ table }: Props) {
  const { reader = "duckdb" } = route.useSearch();
  const { location, version, statements } = table;
  const text = [reader === "athena" ? statements?.athena_register : undefined, statements?.[reader]]
    .filter((each) => each !== undefined)
    .join("\n");
  return (
    <Panel
      title="Iceberg table"
      end={
        <nav className="seg" aria-label="Reader of the table">
          {TABLE_READERS.map((each) => (
            <route.Link
              key={each}
              to="."
              search={(former) => ({ ...former, reader: each })}
              aria-current={reader === each ? "page" : undefined}
              replace
            >
              {NAMES[each]}
            </route.Link>
          ))}
        </nav>
      }
      footer={
        <>
          <code className="sm break-all">{location}</code>
          {version !== null && <span className="push nw">version {version}</span>}
        </>
      }
    >
      <div className="in-p">
        {text === "" ? (
          <p className="dim">
            {version === null
              ? "The statements appear when the window is in the table."
              : "The table no longer has a state of this window alone: read its newest one."}
          </p>
        ) : (
          <CodeBlock text={text} label={`Table for ${NAMES[reader]}`} />
        )}
      </div>
    </Panel>
  );
}
