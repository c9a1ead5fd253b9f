import { DAY_US } from "../../shared/times.ts";
import type { Position } from "../rows/rows.ts";
import { EVERY_RUN } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import type { RunReader } from "./run-reader.ts";
import { type ScanFilter, scanRuns } from "./scan-runs.ts";
import type { ScanChunk, ScanRange } from "./scan-types.ts";

export type ScanPlanQuery = ScanFilter &
  Omit<ScanRange, "until"> & { max_rows: number; max_bytes: number };
export type ScanPiece = Omit<ScanChunk, "partition">;
/** Pieces of a scan. The next page of the plan begins after `next`, which is `null` at the end. */
export type ScanPlanPage = { pieces: ScanPiece[]; next: Position | null };

const MAX_PIECES = 1000;
/** Estimated size of a row without payloads. */
const ROW_BYTES = 400;

/** Plans the pieces of a scan. `payload_bytes`: average size of a run's payloads. */
export function planPieces(
  reader: RunReader,
  query: ScanPlanQuery,
  payload_bytes: number,
): ScanPlanPage {
  const bytes = ROW_BYTES + payload_bytes;
  const limit = Math.max(1, Math.min(query.max_rows, Math.floor(query.max_bytes / bytes)));
  const cuts = new Cuts(query, bytes, limit);
  while (cuts.pieces.length < MAX_PIECES) {
    if (addPiece(reader, query, cuts)) continue;
    cuts.close(null);
    return { pieces: cuts.pieces, next: null };
  }
  return { pieces: cuts.pieces, next: cuts.after };
}

/** Adds runs until a piece is closed. @returns false when the runs end before */
function addPiece(reader: RunReader, query: ScanPlanQuery, cuts: Cuts): boolean {
  const range = { ...query, until: null };
  const [first] = scanRuns(reader, { ...range, after: cuts.after });
  if (first === undefined) return false;
  if (cuts.add(first)) return true;
  const after = { start_us: first.start_us, id: first.id };
  const from_us = skipRuns(reader, query, cuts, after);
  const rest = from_us === null ? { ...range, after } : { ...range, from_us, after: null };
  for (const run of scanRuns(reader, rest)) if (cuts.add(run)) return true;
  return false;
}

/**
 * Counts most runs of the open piece by their segments.
 * @returns the time before which all runs are counted, `null` when none was counted
 */
function skipRuns(
  { source }: RunReader,
  { filter, max_seq, min_seq }: ScanPlanQuery,
  cuts: Cuts,
  after: Position,
): number | null {
  if (cuts.open === null || filter !== null || min_seq !== null) return null;
  const range = { order: "asc", after, max_seq, max_start_us: cuts.open.to_us - 1 } as const;
  const found = source.countBySegments({ ...EVERY_RUN, ...range }, cuts.rest);
  cuts.open.rows += found?.runs ?? 0;
  return found?.from_us ?? null;
}

type OpenPiece = Pick<ScanPiece, "from_us" | "to_us" | "after" | "rows">;

/** Cuts rows at the limit and at UTC midnight. */
class Cuts {
  readonly pieces: ScanPiece[] = [];
  open: OpenPiece | null = null;
  after: Position | null;
  readonly #query: ScanPlanQuery;
  readonly #rowBytes: number;
  readonly #limit: number;

  constructor(query: ScanPlanQuery, row_bytes: number, limit: number) {
    this.#query = query;
    this.#rowBytes = row_bytes;
    this.#limit = limit;
    this.after = query.after;
  }

  /** Number of rows that the open piece lacks. */
  get rest(): number {
    return this.#limit - (this.open?.rows ?? 0);
  }

  /** Returns whether a piece was closed. A run of a later day closes the piece, and is not added. */
  add(run: RunView): boolean {
    if (this.open !== null && run.start_us >= this.open.to_us) {
      this.close(null);
      return true;
    }
    this.open ??= this.#piece(run.start_us);
    this.open.rows += 1;
    if (this.open.rows < this.#limit) return false;
    this.close({ start_us: run.start_us, id: run.id });
    return true;
  }

  close(until: Position | null): void {
    if (this.open === null) return;
    const { rows, to_us } = this.open;
    const { min_seq, max_seq, scan_range } = this.#query;
    const bytes = Math.round(rows * this.#rowBytes);
    this.pieces.push({ ...this.open, until, min_seq, max_seq, scan_range, bytes });
    this.after = until ?? { start_us: to_us, id: "" };
    this.open = null;
  }

  #piece(start_us: number): OpenPiece {
    const midnight = Math.floor(start_us / DAY_US) * DAY_US;
    const from_us = Math.max(this.#query.from_us, midnight);
    const to_us = Math.min(this.#query.to_us, midnight + DAY_US);
    const { after } = this;
    const inside = after !== null && after.start_us >= from_us ? after : null;
    return { from_us, to_us, after: inside, rows: 0 };
  }
}
