import { getRouteApi } from "@tanstack/react-router";
import type { BulkExportPreview } from "../../../exports/preview/preview-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { EXPORTS } from "../../exports/names.ts";
import { formatNumber } from "../../ui/formats.ts";
import { Empty, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";

const route = getRouteApi("/w/$workspace/exports/$export");
const LIMIT = 20;

export function FirstRows({ id }: { id: string }) {
  const { file } = route.useSearch();
  const query = useApiQuery<BulkExportPreview>(under(EXPORTS)`/${id}/preview`, {
    query: { limit: LIMIT, key: file },
    // Keeps the height while the next file loads: the page must not jump.
    keepPrevious: true,
  });
  return (
    <div id="rows">
      <QueryState query={query} what="The rows could not be read from the bucket">
        {(preview) => (
          <Panel title="First rows" footer={<FooterText preview={preview} />}>
            {preview.rows.length === 0 ? (
              <Empty title="No rows">
                {file ? "This file has no rows." : "No run matched the time range and the filter."}
              </Empty>
            ) : (
              <RowTable preview={preview} />
            )}
          </Panel>
        )}
      </QueryState>
    </div>
  );
}

function FooterText({ preview }: { preview: BulkExportPreview }) {
  const { key, rows, rows_total, omitted_columns } = preview;
  if (key === null) return <span>No file has rows.</span>;
  return (
    <span className="break-all">
      {`${rows.length} of ${formatNumber(rows_total)} rows of `}
      <code>{key.split("/").slice(-2).join("/")}</code>
      {omitted_columns.length > 0 && `; too large to show here: ${omitted_columns.join(", ")}`}
    </span>
  );
}

function RowTable({ preview }: { preview: BulkExportPreview }) {
  const { rows } = preview;
  const columns = sortColumns(preview.columns);
  return (
    <section
      className="overflow-auto max-h-72"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
      tabIndex={0}
      aria-label="First rows"
    >
      <table className="tbl dense preview">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ values, cut }, index) => (
            <tr key={String(values.id ?? index)}>
              {columns.map((name) => (
                <td key={name} title={cellText(values[name])}>
                  <span className="cut block mono sm">{cellText(values[name])}</span>
                  {cut.includes(name) && <span className="dim xs">cut at 2000 characters</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Columns that are shown first, because readers look for them. */
const LEADING_COLUMNS = [
  ...["name", "run_type", "status", "start_time", "end_time"],
  ...["inputs", "outputs", "error", "total_tokens", "total_cost"],
];

function sortColumns(columns: string[]): string[] {
  const leading = LEADING_COLUMNS.filter((name) => columns.includes(name));
  return [...leading, ...columns.filter((name) => !LEADING_COLUMNS.includes(name))];
}

type PreviewValue = BulkExportPreview["rows"][number]["values"][string];

/** Returns a value of a row as text. An absent one is empty. */
function cellText(value: PreviewValue | undefined): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}
