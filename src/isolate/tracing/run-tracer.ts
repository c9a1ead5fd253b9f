import type { AgentFailure, Op, RunCall } from "../contract.ts";
import { failureText } from "../failure.ts";
import { charactersOf, payloadCharactersOf } from "../message-size.ts";
import type { Outbox } from "../outbox.ts";
import type { TraceBatch, TraceOp } from "../trace-contract.ts";
import { hiddenFieldsOf } from "./hidden-fields.ts";
import { isFields, isSameInput, sanitizeFields, withoutUndefined } from "./sanitize-fields.ts";
import { TraceEncoder, type UnsentRun } from "./trace-encoder.ts";

type Fields = Record<string, unknown>;
/** Open trace run: its dotted order and inputs. */
type Open = { dotted_order: string; inputs: unknown };

/** Interval of sends. A shorter run sends its traces at its end. A crash loses the traces since the last send. */
const SEND_AFTER_MS = 250;
const CUT_OFF = "Interrupted: the agent's run ended before this trace run.";
/** Maximum of unsent trace runs, and of the run's output in bytes, with which traces travel with the outcome. */
const BRIEF_RUNS = 16;
const BRIEF_BYTES = 64 * 1024;
/** Size at which a batch ends. A batch is one round trip and one transaction of the thread. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** The same for the payloads of a batch, with the texts they share. The thread takes up to 16 Mi characters. */
const BATCH_PAYLOAD_CHARACTERS = 6 * 1024 * 1024;

/**
 * Collects the traces of a run as the client of LangChain's tracer and of `traceable`. A trace run
 * that starts and ends between two batches is one post.
 */
export class RunTracer {
  readonly #call: RunCall;
  readonly #outbox: Outbox;
  readonly #encoder: TraceEncoder;
  readonly #unsent = new Map<string, UnsentRun>();
  readonly #open = new Map<string, Open>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  #root: "none" | "open" | "ended" | "failed" = "none";
  readonly #beganMs = Date.now();

  constructor(call: RunCall, outbox: Outbox) {
    this.#call = call;
    this.#outbox = outbox;
    this.#encoder = new TraceEncoder(call, hiddenFieldsOf(process.env));
  }

  isRoot(id: string | undefined): boolean {
    return id === this.#call.run_id;
  }

  async createRun(run: Fields): Promise<void> {
    const id = String(run.id);
    if (this.#isOver) return;
    if (this.isRoot(id)) this.#root = stageOf(run);
    if (!run.end_time)
      this.#open.set(id, { dotted_order: this.#encoder.dottedOrderOf(run), inputs: undefined });
    // A resumed attempt continues the root of the first attempt, so it sends a patch. The encoder omits the inputs.
    const kind = this.isRoot(id) && this.#call.resuming ? "patch" : "post";
    this.#unsent.set(id, { kind, run: sanitizeFields(run) });
    this.#schedule();
  }

  async updateRun(id: string, run: Fields): Promise<void> {
    if (this.#isOver) return;
    if (this.isRoot(id) && run.end_time) this.#root = stageOf(run);
    const before = this.#unsent.get(id);
    const change = before ? run : this.#changesOf(id, run);
    const kind = before?.kind ?? "patch";
    this.#unsent.set(id, {
      kind,
      run: { ...before?.run, ...withoutUndefined(sanitizeFields(change)), id },
    });
    if (run.end_time) this.#open.delete(id);
    this.#schedule();
  }

  /** No-ops of the SDK's client: traces are sent without flushes. */
  async awaitPendingTraceBatches(): Promise<void> {}
  async flush(): Promise<void> {}

  /** Starts the root of a plain function, or of a run that failed before LangChain's tracer began. */
  begin(inputs: unknown) {
    const { run_id, graph_id, config } = this.#call;
    void this.createRun({
      id: run_id,
      trace_id: run_id,
      dotted_order: this.#call.trace.dotted_order,
      name: graph_id,
      run_type: "chain",
      inputs: isFields(inputs) ? inputs : { input: inputs },
      extra: { metadata: config.metadata },
      tags: config.tags,
    });
  }

  end(outputs: Fields) {
    void this.updateRun(this.#call.run_id, { outputs, end_time: new Date().toISOString() });
  }

  /** Closes all open trace runs at the end of the run. */
  finish(failure: AgentFailure | null) {
    const { run_id, input, resuming } = this.#call;
    // A run may fail before its first callback, and after its last.
    if (failure && this.#root === "none" && !resuming) this.begin(input);
    if (failure && this.#root === "ended") this.#failRoot(failure);
    const end_time = new Date().toISOString();
    for (const [id, { dotted_order }] of this.#open) {
      const text = this.isRoot(id) ? failure && failureText(failure) : CUT_OFF;
      // Trace runs that are open after a success get no error: the run does not wait for them.
      const error = failure && text;
      const end = { trace_id: run_id, dotted_order, end_time, ...(error && { error }) };
      void this.updateRun(id, end);
    }
    clearTimeout(this.#timer);
    this.#isOver = true;
  }

  #failRoot(failure: AgentFailure) {
    const { run_id, trace } = this.#call;
    const { dotted_order } = trace;
    void this.updateRun(run_id, { trace_id: run_id, dotted_order, error: failureText(failure) });
  }

  /** Whether the remaining traces are small enough to travel with the outcome. */
  get isBrief(): boolean {
    return this.#unsent.size <= BRIEF_RUNS && this.#outbox.total_bytes <= BRIEF_BYTES;
  }

  /** Returns the next batch of traces. */
  drain(): TraceBatch {
    const ops = this.#drain(() => true);
    return { ops, isLast: this.#unsent.size === 0 };
  }

  /**
   * Returns ended trace runs to commit with a batch that has checkpoints or writes: a retry continues after these, and
   * would not send the traces again. Returns none in the first 250 ms of the attempt.
   */
  piggyback(batch: Op[]): Op[] {
    if (Date.now() - this.#beganMs < SEND_AFTER_MS) return [];
    const isFinal = batch.some(({ op }) => op === "checkpoint" || op === "writes");
    return isFinal ? this.#drain(({ end_time }) => Boolean(end_time)) : [];
  }

  /** `isOneCall`: texts may refer to each other only when all operations travel in one call. */
  #drain(isWanted: (run: Fields) => boolean, isOneCall = true): TraceOp[] {
    const ops: TraceOp[] = [];
    let characters = 0;
    let payloads = 0;
    for (const [id, unsent] of this.#unsent) {
      if (characters >= BATCH_CHARACTERS || payloads >= BATCH_PAYLOAD_CHARACTERS) break;
      if (!isWanted(unsent.run)) continue;
      this.#unsent.delete(id);
      const { kind } = unsent;
      const encoded = this.#encoder.encode(id, unsent);
      characters += charactersOf(encoded);
      payloads += payloadCharactersOf(encoded);
      ops.push({ op: "trace", kind, id, open: this.#markSent(id, unsent), ...encoded });
      if (!isOneCall) this.#encoder.endTexts();
    }
    this.#encoder.endBatch();
    return ops;
  }

  #markSent(id: string, { run }: UnsentRun): string | null {
    const open = this.#open.get(id);
    if (!open) return null;
    open.inputs = run.inputs;
    return open.dotted_order;
  }

  /** Drops fields that the post of an open trace run has sent. */
  #changesOf(id: string, run: Fields): Fields {
    const open = this.#open.get(id);
    if (open?.inputs === undefined) return run;
    const { name: _n, run_type: _r, start_time: _s, tags: _t, serialized: _l, ...changes } = run;
    return { ...changes, inputs: isSameInput(open.inputs, run.inputs) ? undefined : run.inputs };
  }

  #schedule() {
    if (this.#timer !== undefined || this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // Waits while the run's own output is behind.
      if (this.#outbox.isBehind) return this.#schedule();
      for (const op of this.#drain(() => true, false)) this.#outbox.push(op);
      if (this.#unsent.size > 0) this.#schedule();
    }, SEND_AFTER_MS);
  }
}

function stageOf({ end_time, error }: Fields) {
  if (!end_time) return "open";
  return error ? "failed" : "ended";
}

/** Variables of the SDKs that disable tracing. */
const SWITCHES = [
  "LANGSMITH_TRACING",
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING_V2",
  "LANGCHAIN_TRACING",
];

export function isTracingOff(env: Record<string, string | undefined>): boolean {
  const values = SWITCHES.map((name) => env[name]?.toLowerCase());
  return values.includes("false") && !values.includes("true");
}
