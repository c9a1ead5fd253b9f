import type { TraceOp, TraceText } from "../../../../isolate/trace-contract.ts";
import { charactersOfRow, mapTexts, type TraceRow, toTraceRow } from "../boundary/trace-texts.ts";

/** A row of the outbox. `wholes`: texts of earlier rows that its operations refer to, by id. */
export type OutboxRow = {
  wholes: [number, string][];
  ops: Pick<TraceOp, "kind" | "data" | "texts">[];
};

// Limits of a delivery, whose parsed texts share the memory of the object.
export const MAX_ROW_OPS = 200;
export const MAX_ROW_CHARACTERS = 4 * 1024 * 1024;

/** Divides a batch into rows that a delivery can expand one at a time. */
export function toOutboxRows(ops: TraceOp[]): OutboxRow[] {
  const texts = new Map<number, string>();
  const rows: OutboxRow[] = [];
  const known = new Set<number>();
  let row: OutboxRow = { wholes: [], ops: [] };
  let left = 0;
  const toStored = (text: TraceText): TraceText => {
    const id = "id" in text ? text.id : text.of;
    if (!("id" in text) && !known.has(id)) row.wholes.push([id, texts.get(id) ?? ""]);
    known.add(id);
    return text;
  };
  for (const op of ops) {
    const characters = charactersOfRow(toTraceRow(op, texts));
    if (rows.length === 0 || characters > left || row.ops.length === MAX_ROW_OPS) {
      row = { wholes: [], ops: [] };
      rows.push(row);
      known.clear();
      left = MAX_ROW_CHARACTERS;
    }
    left -= characters;
    const { kind, data } = op;
    row.ops.push({ kind, data, ...(op.texts && { texts: mapTexts(op.texts, toStored) }) });
  }
  return rows;
}

export function fromOutboxRow({ wholes, ops }: OutboxRow): TraceRow[] {
  const texts = new Map(wholes);
  return ops.map((op) => toTraceRow(op, texts));
}
