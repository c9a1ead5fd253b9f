import type { TraceOp, TraceText } from "../../../../isolate/trace-contract.ts";
import { charactersOfRow, mapTexts, type TraceRow, toTraceRow } from "../boundary/trace-texts.ts";

/** A row of the outbox. `wholes`: texts of earlier rows, by id. Texts of this row may be differences to them. */
export type OutboxRow = {
  wholes: [number, string][];
  ops: Pick<TraceOp, "kind" | "data" | "texts">[];
};

// Limits of a delivery, whose parsed texts share the memory of the object.
export const MAX_ROW_OPS = 200;
export const MAX_ROW_CHARACTERS = 4 * 1024 * 1024;

/** Divides a batch into rows that a delivery can expand one at a time. */
export function toOutboxRows(ops: TraceOp[]): OutboxRow[] {
  const wholes = new Map<number, string>();
  const rows: OutboxRow[] = [];
  const idsInRow = new Set<number>();
  let row: OutboxRow = { wholes: [], ops: [] };
  let charactersLeft = 0;
  const addWholeOf = (text: TraceText): TraceText => {
    const id = "id" in text ? text.id : text.of;
    if (!("id" in text) && !idsInRow.has(id)) row.wholes.push([id, wholes.get(id) ?? ""]);
    idsInRow.add(id);
    return text;
  };
  for (const op of ops) {
    // Adds the whole texts of the operation to `wholes`.
    const characters = charactersOfRow(toTraceRow(op, wholes));
    if (rows.length === 0 || characters > charactersLeft || row.ops.length === MAX_ROW_OPS) {
      row = { wholes: [], ops: [] };
      rows.push(row);
      idsInRow.clear();
      charactersLeft = MAX_ROW_CHARACTERS;
    }
    charactersLeft -= characters;
    const { kind, data } = op;
    row.ops.push({ kind, data, ...(op.texts && { texts: mapTexts(op.texts, addWholeOf) }) });
  }
  return rows;
}

export function fromOutboxRow({ wholes, ops }: OutboxRow): TraceRow[] {
  const wholesById = new Map(wholes);
  return ops.map((op) => toTraceRow(op, wholesById));
}
