export const CHANNELS = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
] as const;
export type Channel = (typeof CHANNELS)[number];

export type ProtocolEvent = {
  event_id: string;
  seq: number;
  method: string;
  /** The method, but `input` for `input.requested` and `custom:<name>` for what has a name. */
  channel: string;
  namespace: string[];
  timestamp: number;
  node?: string;
  /** JSON text. */
  data: string;
};

/** What one row of the log gives, in this order. */
const STAGES = [
  "abandoned",
  "left",
  "running",
  "started",
  "closed",
  "requested",
  "main",
  "ended",
  "closed_at_end",
  "ended_at_end",
  "requested_at_end",
  "over",
] as const;
type Stage = (typeof STAGES)[number];

// An event's place follows from its row alone, whatever else a reader asks for.
const STAGE_ROOM = 2 ** 16;
const ROW_ROOM = 2 ** 20;

/** The row whose event has this sequence number. */
export function rowOf(seq: number): number {
  return Math.floor(seq / ROW_ROOM);
}

/** Greater than that of every event of the row, and of those before: what a command has seen that saw the row last. */
export function lastSeqOf(row_id: number): number {
  return (row_id + 1) * ROW_ROOM - 1;
}

type Told = {
  method: string;
  namespace: string[];
  /** JSON text. */
  data: string;
  channel?: string;
  node?: string | undefined;
};

/** The events that one row of the log gives. */
export class RowEvents {
  readonly row_id: number;
  readonly #timestamp: number;
  readonly #events: ProtocolEvent[] = [];
  readonly #counts = new Map<Stage, number>();

  constructor(row_id: number, timestamp: number) {
    this.row_id = row_id;
    this.#timestamp = timestamp;
  }

  /** `root_of`: the run whose own lifecycle it is; clients read its id out of the event's. */
  tell(stage: Stage, { channel, node, ...told }: Told, root_of: string | null = null) {
    const n = this.#counts.get(stage) ?? 0;
    this.#counts.set(stage, n + 1);
    const place = STAGES.indexOf(stage);
    const own = `${this.row_id}.${place}.${n}`;
    this.#events.push({
      ...told,
      event_id: root_of === null ? own : `synth:${root_of}:${own}`,
      seq: this.row_id * ROW_ROOM + place * STAGE_ROOM + Math.min(n, STAGE_ROOM - 1),
      channel: channel ?? told.method,
      timestamp: this.#timestamp,
      ...(node !== undefined && { node }),
    });
  }

  inOrder(): ProtocolEvent[] {
    return this.#events.sort((a, b) => a.seq - b.seq);
  }
}

/** Clients stop listening here, whatever they have asked for since. */
export function endsRun({ method, namespace, data }: ProtocolEvent): boolean {
  const isRoot = method === "lifecycle" && namespace.length === 0;
  return isRoot && /^\{"event":"(completed|failed|interrupted)"/.test(data);
}

export function toEventText(event: ProtocolEvent): string {
  const { event_id, seq, method, namespace, timestamp, node, data } = event;
  const own = JSON.stringify({ namespace, timestamp, ...(node !== undefined && { node }) });
  const params = `${own.slice(0, -1)},"data":${data}}`;
  const envelope = JSON.stringify({ type: "event", event_id, seq, method });
  return `${envelope.slice(0, -1)},"params":${params}}`;
}
