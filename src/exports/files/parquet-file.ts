import { createHash } from "node:crypto";
import { freeTexts, isPacked } from "../../traces/rows/packed-texts.ts";
import type { ScanPart } from "../../traces/scan/scan-service.ts";
import { type Column, selectColumns } from "../columns.ts";
import { selectChunks, type TimedGroup } from "../parquet/footer.ts";
import { ParquetWriter } from "../parquet/writer.ts";
import type { ExportRow } from "../table.ts";
import type { FileContents, Watch } from "./file-lease.ts";
import type { FileUpload } from "./upload.ts";

/** File of an export. Its rows are encoded, or copied as row groups, in order of time. */
export class ParquetFile {
  readonly columns: readonly Column[];
  readonly #writer: ParquetWriter;
  readonly #hash = createHash("sha256");
  readonly #to: FileUpload;
  readonly #watch: Watch;
  readonly #range = { min_start_us: null as number | null, max_start_us: null as number | null };

  constructor(bulkExport: ExportRow, to: FileUpload, watch: Watch) {
    const { compression, export_fields, workspace_id: tenant_id, session_id } = bulkExport;
    this.columns = selectColumns(export_fields);
    this.#writer = new ParquetWriter(this.columns, {
      compression,
      constants: { tenant_id, session_id },
    });
    this.#to = to;
    this.#watch = watch;
  }

  async addRows(part: ScanPart): Promise<void> {
    const { signal, written } = this.#watch;
    signal.throwIfAborted();
    await this.#send(this.#writer.write(part));
    written.rows_written += part.rows;
    const times = part.columns.start_us;
    if (times instanceof Float64Array) this.#widen(times[0], times.at(-1));
    free(part);
  }

  /** Copies the column chunks of groups. `pieces` are their bytes in order. */
  async addGroups(groups: readonly TimedGroup[], pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { signal, written } = this.#watch;
    const chosen = groups.map(({ group }) => selectChunks(group, this.columns));
    await this.#send(chosen.flatMap((group) => this.#writer.addGroup(group)));
    const before = { ...written };
    const rows = chosen.reduce((sum, { num_rows }) => sum + Number(num_rows), 0);
    const bytes = chosen.reduce((sum, group) => sum + Number(group.total_compressed_size), 0);
    for await (const piece of pieces) {
      signal.throwIfAborted();
      await this.#send([piece]);
      const share = (written.bytes_written - before.bytes_written) / bytes;
      written.rows_written = before.rows_written + Math.floor(rows * share);
    }
    const hasTimes = this.columns.some(({ source }) => source === "start_us");
    if (hasTimes) this.#widen(groups[0]?.min_start_us, groups.at(-1)?.max_start_us);
  }

  async finish(): Promise<FileContents> {
    await this.#send(this.#writer.finish());
    return { ...this.#watch.written, ...this.#range, sha256: this.#hash.digest("hex") };
  }

  async #send(pieces: readonly Uint8Array[]): Promise<void> {
    for (const bytes of pieces) {
      this.#hash.update(bytes);
      await this.#to.write(bytes);
      this.#watch.written.bytes_written += bytes.byteLength;
    }
  }

  /** Expects rows in order of time. */
  #widen(first: number | undefined, last: number | undefined): void {
    if (first === undefined || last === undefined) return;
    this.#range.min_start_us ??= first;
    this.#range.max_start_us = last;
  }
}

/** Frees texts that the writer has copied. */
function free({ columns }: ScanPart): void {
  for (const cells of Object.values(columns)) if (isPacked(cells)) freeTexts(cells);
}
