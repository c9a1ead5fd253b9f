/** Trace run or its changes as JSON in the form of ingestion. */
export type TraceOp = {
  op: "trace";
  kind: "post" | "patch";
  id: string;
  /** Dotted order while the trace run is open, `null` once it ended. */
  open: string | null;
  data: string;
  /** Long payloads, which `data` omits. */
  texts?: Partial<Record<TracePayload, TraceText>>;
};

export type TracePayload = "inputs" | "outputs";

/** JSON text, or its difference to an earlier one of the same batch. */
export type TraceText = { id: number; text: string } | DiffText;

/** `before`, then the `chars` characters of the text with the id `of` that begin at `from`, then `rest`. */
export type DiffText = { of: number; before: string; from: number; chars: number; rest: string };

export type TraceBatch = { ops: TraceOp[]; isLast: boolean };
