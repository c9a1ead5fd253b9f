import { getRouteApi } from "@tanstack/react-router";
import type { BulkExportManifest } from "../../../exports/preview/preview-schema.ts";
import { CodeBlock } from "../../ui/blocks/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SQL_DIALECTS } from "./search.ts";

const route = getRouteApi("/w/$workspace/exports/$export");
const NAMES = { duckdb: "DuckDB", athena: "Athena" } as const;
const SHOWN_CHARS = 4000;

/** Shows the SQL that reads the files. */
export function ReadIt({ manifest }: { manifest: BulkExportManifest }) {
  const { sql = "duckdb" } = route.useSearch();
  const { statements } = manifest;
  const text = [statements?.[sql], sql === "athena" ? statements?.athena_partitions : undefined]
    .filter((each) => each !== undefined)
    .join("\n");
  return (
    <Panel
      title="Read it"
      end={
        <nav className="seg" aria-label="SQL dialect">
          {SQL_DIALECTS.map((each) => (
            <route.Link
              key={each}
              to="."
              search={(former) => ({ ...former, sql: each })}
              aria-current={sql === each ? "page" : undefined}
              replace
            >
              {NAMES[each]}
            </route.Link>
          ))}
        </nav>
      }
    >
      <div className="in-p">
        {text === "" ? (
          <p className="dim">SQL that reads the files appears with the first file.</p>
        ) : (
          <CodeBlock text={text} label={`SQL for ${NAMES[sql]}`} />
        )}
      </div>
    </Panel>
  );
}

/** Shows the manifest. The bucket has it after the export has completed. */
export function Manifest({ manifest, isDone }: { manifest: BulkExportManifest; isDone: boolean }) {
  const text = JSON.stringify(manifest, null, 2);
  return (
    <Panel
      title={
        <>
          <span className="mono">_manifest.json</span>
          {!isDone && <span className="sm dim font-normal"> so far; _SUCCESS comes last</span>}
        </>
      }
      end={<CopyButton text={text} label="Copy the manifest" />}
      footer={
        text.length > SHOWN_CHARS
          ? `The first ${SHOWN_CHARS} of ${text.length} characters; copy has all`
          : undefined
      }
    >
      <section
        className="in-p overflow-auto max-h-105"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
        tabIndex={0}
        aria-label="Manifest"
      >
        <pre className="sm">{text.slice(0, SHOWN_CHARS)}</pre>
      </section>
    </Panel>
  );
}
