import type { Host, Op } from "./contract.ts";
import {
  charactersOf,
  describeBytes,
  MAX_MESSAGE_BYTES,
  MAX_VALUE_BYTES,
  messageBytes,
  StateLimitError,
} from "./message-size.ts";

// Size at which a batch ends. RPC takes 32 MiB a message, and a batch is also one transaction and one copy in memory.
const BATCH_BYTES = 4 * 1024 * 1024;
/** The thread refuses a commit of more than 65,536 operations. */
const BATCH_OPS = 8192;

// Bounds memory: an isolate has 128 MB.
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Error of a run whose output arrives faster than the thread stores it. */
class EventLimitError extends Error {
  override name = "EventLimitError";

  constructor() {
    super(
      `The run has more than ${MAX_WAITING_BYTES} bytes of unsaved events and checkpoints. ` +
        "Emit fewer or smaller events, or await between them.",
    );
  }
}

/**
 * Ordered queue of the output of a run or a state update. One commit is in flight at a time. Output that arrives in the
 * meantime, such as tokens, shares the next commit, which is one round trip and one transaction.
 */
export class Outbox {
  #ops: Op[] = [];
  #bytes = 0;
  #totalBytes = 0;
  #pushed = 0;
  #committed = 0;
  #inFlight: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: { reason: unknown } | undefined;
  #isHeld = false;
  readonly #host: Pick<Host, "commit">;
  readonly #onFailure: () => void;
  #piggyback: (batch: Op[]) => Op[] = () => [];

  /** @param onFailure called when a commit fails: nothing is sent after it */
  constructor(host: Pick<Host, "commit">, onFailure = () => {}) {
    this.#host = host;
    this.#onFailure = onFailure;
  }

  /**
   * Adds the operations that `piggyback` returns to each batch that is sent, except to very large ones. The batch that
   * `drain` returns has none.
   */
  onSend(piggyback: (batch: Op[]) => Op[]) {
    this.#piggyback = piggyback;
  }

  push(op: Op) {
    // Nothing is sent after a failure, which `flush` and `drain` throw.
    if (this.#failure) return;
    const bytes = sizeOf(op);
    assertSendable(op, bytes);
    if (this.#bytes + bytes > MAX_WAITING_BYTES) throw new EventLimitError();
    this.#bytes += bytes;
    this.#totalBytes += bytes;
    this.#pushed += 1;
    this.#ops.push(op);
    this.#schedule();
  }

  /** Bytes of all operations that were pushed. */
  get total_bytes(): number {
    return this.#totalBytes;
  }

  /** Whether more output waits than one batch holds. Callers that can wait should flush first. */
  get isBehind(): boolean {
    return this.#bytes > BATCH_BYTES || this.#ops.length > BATCH_OPS;
  }

  /** Flushes after a timer of 0 ms: work that is ready now may push more operations to the same batch. */
  async flushSoon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0));
    await this.flush();
  }

  /**
   * Resolves once everything pushed so far is committed. It does not wait for operations that other nodes push later.
   * `durability: sync` waits here.
   * @throws the failure of this or an earlier commit
   */
  async flush(): Promise<void> {
    this.#throwIfFailed();
    const until = this.#pushed;
    while (this.#committed < until && (this.#ops.length > 0 || this.#inFlight !== undefined)) {
      await (this.#inFlight ?? this.#commit());
      this.#throwIfFailed();
    }
  }

  /**
   * Commits until the rest is one batch that fits one message with an outcome of `bytes`, and returns that rest.
   * @throws the failure of this or an earlier commit
   */
  async drain(bytes: number): Promise<Op[]> {
    await this.#inFlight;
    const isOver = () => this.isBehind || this.#bytes + bytes > MAX_MESSAGE_BYTES;
    while (isOver() && this.#ops.length > 0 && !this.#failure) await this.#commit();
    clearTimeout(this.#timer);
    this.#throwIfFailed();
    return this.#take().batch;
  }

  /**
   * Sends nothing by timer until `work` resolves. The last events of a run then travel with its outcome. A client that
   * received an interrupt earlier could answer it while the run is still in progress.
   */
  async holdDuring(work: Promise<void>): Promise<void> {
    this.#isHeld = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await work;
    this.#isHeld = false;
    if (this.#ops.length > 0) this.#schedule();
  }

  #schedule() {
    if (this.#inFlight || this.#timer !== undefined || this.#failure || this.#isHeld) return;
    this.#timer = setTimeout(() => this.#commit(), 0);
  }

  #commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { batch, bytes } = this.#take();
    const more = bytes > MAX_MESSAGE_BYTES - BATCH_BYTES ? [] : this.#piggyback(batch);
    this.#inFlight = this.#send([...batch, ...more], batch.length);
    return this.#inFlight;
  }

  async #send(ops: Op[], count: number) {
    try {
      await this.#host.commit(ops);
      this.#committed += count;
    } catch (reason) {
      this.#failure = { reason };
      this.#ops = [];
      this.#bytes = 0;
      this.#onFailure();
    }
    this.#inFlight = undefined;
    if (this.#ops.length > 0) this.#schedule();
  }

  #take(): { batch: Op[]; bytes: number } {
    let bytes = 0;
    let count = 0;
    const max_count = Math.min(this.#ops.length, BATCH_OPS);
    while (count < max_count && bytes < BATCH_BYTES) {
      const more = sizeOf(this.#ops[count]);
      if (count > 0 && bytes + more > MAX_MESSAGE_BYTES) break;
      bytes += more;
      count += 1;
    }
    this.#bytes -= bytes;
    return { batch: this.#ops.splice(0, count), bytes };
  }

  #throwIfFailed() {
    if (this.#failure) throw this.#failure.reason;
  }
}

/** @throws StateLimitError for an operation that RPC would refuse: the run would count as lost, and be repeated */
function assertSendable(op: Op, bytes: number) {
  const values = op.op === "checkpoint" ? op.values : op.op === "writes" ? op.writes : [];
  const large = values.find(({ data }) => data.byteLength > MAX_VALUE_BYTES);
  if (large) throw tooLarge(`channel "${large.channel}"`, large.data.byteLength, MAX_VALUE_BYTES);
  if (bytes <= MAX_MESSAGE_BYTES) return;
  throw tooLarge(op.op === "event" ? `event "${op.event}"` : "step", bytes, MAX_MESSAGE_BYTES);
}

function tooLarge(what: string, bytes: number, limit: number): StateLimitError {
  return new StateLimitError(
    `The ${what} has ${describeBytes(bytes)}, more than ${describeBytes(limit)}. ` +
      "Store large values outside of the state.",
  );
}

function sizeOf(op: Op | undefined): number {
  if (op?.op === "event") return messageBytes(op.data);
  if (op?.op === "trace") return charactersOf(op);
  if (op?.op === "writes") return op.writes.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (op?.op !== "checkpoint") return 0;
  return op.values.reduce((sum, { data }) => sum + data.byteLength, op.checkpoint.length);
}
