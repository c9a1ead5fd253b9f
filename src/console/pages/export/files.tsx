import { getRouteApi } from "@tanstack/react-router";
import type { BulkExportManifest } from "../../../exports/preview/preview-schema.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatCount } from "../../ui/formats.ts";
import { Empty, Panel } from "../../ui/panel.tsx";
import { Bytes, Quantity } from "../../ui/values.tsx";

/** `isLate`: its rows arrived too late for the earlier exports of the schedule. */
type WrittenFile = BulkExportManifest["files"][number] & { isLate: boolean };

const route = getRouteApi("/w/$workspace/exports/$export");
const SHOWN = 200;
const HASH_CHARS = 8;

/** Lists the written files with their hashes. A row opens the first rows of its file. */
export function Files({ manifest, isDone }: { manifest: BulkExportManifest; isDone: boolean }) {
  const { file } = route.useSearch();
  const files = [
    ...manifest.files.map((each) => ({ ...each, isLate: false })),
    ...manifest.late_files.map((each) => ({ ...each, isLate: true })),
  ];
  return (
    <Panel title="Files" footer={countText(files.length)}>
      {files.length === 0 ? (
        <NoFiles isDone={isDone} />
      ) : (
        <DataTable
          label="Files"
          columns={COLUMNS}
          rows={files.slice(0, SHOWN)}
          keyOf={({ key }) => key}
          selected={file ?? null}
        />
      )}
    </Panel>
  );
}

function NoFiles({ isDone }: { isDone: boolean }) {
  if (isDone) return <Empty title="No files">No run matched, so no file was written.</Empty>;
  return (
    <Empty title="No file is written yet">
      A file appears here when the bucket has confirmed it.
    </Empty>
  );
}

const COLUMNS: TableColumn<WrittenFile>[] = [
  { id: "file", header: "File", cell: (row) => <FileName file={row} />, card: "full" },
  {
    id: "rows",
    header: "Rows",
    cell: ({ rows }) => <Quantity value={rows} />,
    isRightAligned: true,
  },
  {
    id: "bytes",
    header: "Bytes",
    cell: ({ bytes }) => <Bytes value={bytes} />,
    isRightAligned: true,
    card: "end",
  },
  {
    id: "hash",
    header: "SHA-256",
    cell: ({ sha256 }) => sha256 !== null && <Hash sha256={sha256} />,
    card: "hidden",
  },
];

function FileName({ file: { key, isLate } }: { file: WrittenFile }) {
  return (
    <span className="row">
      <route.Link
        to="."
        hash="rows"
        search={(former) => ({ ...former, file: key })}
        className="cut mono sm"
        title={key}
      >
        {key.split("/").slice(-2).join("/")}
      </route.Link>
      {isLate && <span className="tag">late rows</span>}
    </span>
  );
}

function Hash({ sha256 }: { sha256: string }) {
  return (
    <span className="row">
      <code className="dim" title={sha256}>
        {sha256.slice(0, HASH_CHARS)}
      </code>
      <CopyButton text={sha256} label="Copy the SHA-256" />
    </span>
  );
}

function countText(count: number): string | undefined {
  if (count === 0) return undefined;
  return count <= SHOWN
    ? formatCount(count, "file")
    : `The first ${SHOWN} of ${formatCount(count, "file")}; the manifest has all`;
}
