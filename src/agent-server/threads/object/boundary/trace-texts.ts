import type { DiffText, TraceOp, TracePayload } from "../../../../isolate/trace-contract.ts";

/** Create or update of a trace run: JSON text, with long payloads separate. */
export type TraceRow = Pick<TraceOp, "kind" | "data"> & { texts: TracePayloads };
export type TracePayloads = Partial<Record<TracePayload, string>>;

/** Expands the texts that the isolate sends as differences. `ops` is one batch. */
export function toTraceRows(ops: Pick<TraceOp, keyof TraceRow>[]): TraceRow[] {
  const wholes = new Map<number, string>();
  return ops.map((op) => toTraceRow(op, wholes));
}

/** `wholes`: whole texts of the batch so far, by id. Adds those of this operation. */
export function toTraceRow(
  { kind, data, texts }: Pick<TraceOp, keyof TraceRow>,
  wholes: Map<number, string>,
): TraceRow {
  const expanded = mapTexts(texts, (text) => {
    if (!("id" in text)) return joinText(text, wholes.get(text.of) ?? "");
    wholes.set(text.id, text.text);
    return text.text;
  });
  return { kind, data, texts: expanded };
}

export function joinText(
  { before, from, chars, rest }: Omit<DiffText, "of">,
  whole: string,
): string {
  return `${before}${whole.slice(from, from + chars)}${rest}`;
}

export function mapTexts<T, U>(
  texts: Partial<Record<TracePayload, T>> | undefined,
  change: (text: T) => U,
): Partial<Record<TracePayload, U>> {
  const { inputs, outputs } = texts ?? {};
  return {
    ...(inputs !== undefined && { inputs: change(inputs) }),
    ...(outputs !== undefined && { outputs: change(outputs) }),
  };
}

export function charactersOfRow({ data, texts: { inputs, outputs } }: TraceRow): number {
  return data.length + (inputs?.length ?? 0) + (outputs?.length ?? 0);
}
