import type { TraceOp, TracePayload, TraceText } from "../../../isolate/contract.ts";

/** A trace run, or a change of one, as ingestion takes it: JSON text, and long payloads beside it. */
export type TraceRow = Pick<TraceOp, "kind" | "data"> & { texts: TracePayloads };
export type TracePayloads = Partial<Record<TracePayload, string>>;

type Shared = Exclude<TraceText, { id: number }>;

/** How the isolate tells texts that are much alike, undone. Pure. */

/** `ops` are all of one batch. */
export function toTraceRows(ops: TraceOp[]): TraceRow[] {
  const told = new Map<number, string>();
  return ops.map(({ kind, data, texts }) => ({
    kind,
    data,
    texts: mapTexts(texts, (text) => {
      if (!("id" in text)) return joinText(text, told.get(text.of) ?? "");
      told.set(text.id, text.text);
      return text.text;
    }),
  }));
}

export function joinText({ before, from, chars, rest }: Omit<Shared, "of">, whole: string): string {
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
