import type { Host, Op } from "./contract.ts";
import { charactersOf } from "./said-texts.ts";

// RPC takes 32 MiB a message; a batch is also one transaction and one copy in memory.
const BATCH_BYTES = 4 * 1024 * 1024;
/** The thread refuses a commit of more than 65,536. */
const BATCH_OPS = 8192;

// What waits to be stored is in the isolate's memory, of which it has 128 MB.
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** The agent says more than can be stored while it says it. */
class FloodError extends Error {
  override name = "EventLimitError";

  constructor() {
    super(
      `The run has more than ${MAX_WAITING_BYTES} bytes of unsaved events and checkpoints. ` +
        "Emit fewer or smaller events, or await between them.",
    );
  }
}

/**
 * One ordered queue of what a run has to say. One commit is in flight at a time; the next batch
 * leaves when it returns, so a token costs neither a hop nor a row's commit of its own.
 */
export class Outbox {
  #ops: Op[] = [];
  #bytes = 0;
  #said_bytes = 0;
  #inFlight: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: { reason: unknown } | undefined;
  readonly #host: Pick<Host, "commit">;
  #ride: (batch: Op[]) => Op[] = () => [];

  constructor(host: Pick<Host, "commit">) {
    this.#host = host;
  }

  /** What travels with a batch on its way; not with the last one, which nothing holds up. */
  onSend(ride: (batch: Op[]) => Op[]) {
    this.#ride = ride;
  }

  push(op: Op) {
    const bytes = sizeOf(op);
    if (this.#bytes + bytes > MAX_WAITING_BYTES) throw new FloodError();
    this.#bytes += bytes;
    this.#said_bytes += bytes;
    this.#ops.push(op);
    this.#schedule();
  }

  /** In all, since the run began. */
  get said_bytes(): number {
    return this.#said_bytes;
  }

  /** More waits than one batch takes: who can wait with saying more should flush first. */
  get isBehind(): boolean {
    return this.#bytes > BATCH_BYTES || this.#ops.length > BATCH_OPS;
  }

  /** Resolves once everything pushed so far is committed; `durability: sync` waits here. */
  async flush(): Promise<void> {
    while (this.#ops.length > 0 || this.#inFlight !== undefined) {
      await (this.#inFlight ?? this.#commit());
      this.#throwIfFailed();
    }
  }

  /** Waits for the commit in flight and hands over the rest, which travels in the run's answer. */
  async drain(): Promise<Op[]> {
    await this.#inFlight;
    while (this.isBehind && !this.#failure) await this.#commit();
    clearTimeout(this.#timer);
    this.#throwIfFailed();
    return this.#take();
  }

  #schedule() {
    if (this.#inFlight || this.#timer !== undefined || this.#failure) return;
    this.#timer = setTimeout(() => this.#commit(), 0);
  }

  #commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#take();
    this.#inFlight = this.#send([...batch, ...this.#ride(batch)]);
    return this.#inFlight;
  }

  async #send(ops: Op[]) {
    try {
      await this.#host.commit(ops);
    } catch (reason) {
      this.#failure = { reason };
    }
    this.#inFlight = undefined;
    if (this.#ops.length > 0) this.#schedule();
  }

  #take(): Op[] {
    let bytes = 0;
    let count = 0;
    const most = Math.min(this.#ops.length, BATCH_OPS);
    while (count < most && bytes < BATCH_BYTES) bytes += sizeOf(this.#ops[count++]);
    this.#bytes -= bytes;
    return this.#ops.splice(0, count);
  }

  #throwIfFailed() {
    if (this.#failure) throw this.#failure.reason;
  }
}

function sizeOf(op: Op | undefined): number {
  if (op?.op === "event") return op.data.length;
  if (op?.op === "trace") return charactersOf(op);
  if (op?.op === "writes") return op.writes.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (op?.op !== "checkpoint") return 0;
  return op.values.reduce((sum, { data }) => sum + data.byteLength, op.checkpoint.length);
}
