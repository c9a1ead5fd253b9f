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
  /** Sequence number: orders the events of a thread, and is the same in each read. */
  seq: number;
  method: string;
  /** The method, except `input` for `input.requested` and `custom:<name>` for named custom events. */
  channel: string;
  namespace: string[];
  /** Epoch milliseconds. */
  timestamp: number;
  node?: string;
  /** JSON text. */
  data: string;
};

/**
 * Groups of events that one row of the log can produce, in order. `_before`: ends what a lost attempt left open.
 * `_at_end`: added when the run ends.
 */
const STAGES = [
  "abandoned_before",
  "ended_before",
  "root_started",
  "started",
  "closed",
  "requested",
  "main",
  "ended",
  "closed_at_end",
  "ended_at_end",
  "requested_at_end",
  "root_ended",
] as const;
type Stage = (typeof STAGES)[number];

// Ranges of sequence numbers. A number depends on the row, the stage and the position in the stage. In one row a stage
// has events of one channel, so readers of different channels see the same numbers.
const STAGE_SIZE = 2 ** 16;
const ROW_SIZE = 2 ** 20;

/** Returns the id of the row of an event. */
export function rowOf(seq: number): number {
  return Math.floor(seq / ROW_SIZE);
}

/** Returns an upper bound of the sequence numbers of a row. */
export function lastSeqOf(row_id: number): number {
  return (row_id + 1) * ROW_SIZE - 1;
}

type EventContent = {
  method: string;
  namespace: string[];
  /** JSON text. */
  data: string;
  channel?: string;
  node?: string | undefined;
};

/** Collects the events of one row of the log. */
export class RowEvents {
  readonly row_id: number;
  readonly #timestamp: number;
  readonly #events: ProtocolEvent[] = [];
  readonly #counts = new Map<Stage, number>();

  constructor(row_id: number, timestamp: number) {
    this.row_id = row_id;
    this.#timestamp = timestamp;
  }

  /** `root_of`: the run's id, for lifecycle events of the root graph. Clients parse it from the id of the event. */
  add(stage: Stage, { channel, node, ...content }: EventContent, root_of: string | null = null) {
    const n = this.#counts.get(stage) ?? 0;
    this.#counts.set(stage, n + 1);
    const order = STAGES.indexOf(stage);
    const own = `${this.row_id}.${order}.${n}`;
    this.#events.push({
      ...content,
      event_id: root_of === null ? own : `synth:${root_of}:${own}`,
      seq: this.row_id * ROW_SIZE + order * STAGE_SIZE + Math.min(n, STAGE_SIZE - 1),
      channel: channel ?? content.method,
      timestamp: this.#timestamp,
      ...(node !== undefined && { node }),
    });
  }

  inOrder(): ProtocolEvent[] {
    return this.#events.sort((a, b) => a.seq - b.seq);
  }
}

/** Whether the event ends a run: clients close all subscriptions when they receive it. */
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
