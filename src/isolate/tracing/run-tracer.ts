import type { AgentFailure, Op, RunCall, TraceBatch, TraceOp, TracePayload } from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { charactersOf, payloadCharactersOf, SaidTexts } from "../said-texts.ts";
import { TraceJson } from "../trace-json.ts";
import { isFields, isSameInput, kept, withoutUndefined } from "./told-fields.ts";

type Fields = Record<string, unknown>;
type Waiting = { kind: TraceOp["kind"]; run: Fields };
/** A run that was posted and did not end: where it stands, and what it was given. */
type Open = { dotted_order: string; inputs: unknown };

/** A run that is shorter sends its traces when it is over; a crash costs a longer one at most this much of them. */
const SEND_AFTER_MS = 250;
const CUT_OFF = "Interrupted: its run ended before it did.";
/** A trace of no more runs, of a run that said no more, costs its end less than a round trip of its own would. */
const BRIEF_RUNS = 16;
const BRIEF_BYTES = 64 * 1024;
/** A payload of so many is told as a text of its own. */
const APART_CHARACTERS = 16 * 1024;
/** Of one batch: a round trip, and a transaction of the thread. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** Payloads of one batch with the text that they share: the thread keeps 16 Mi characters of a batch. */
const BATCH_PAYLOAD_CHARACTERS = 6 * 1024 * 1024;

/**
 * Gathers what tracers tell of one run. To LangChain's tracer and to `traceable` it is the client
 * that they send to; a trace run that starts and ends between two batches is one post.
 */
export class RunTracer {
  readonly #call: RunCall;
  readonly #outbox: Outbox;
  readonly #waiting = new Map<string, Waiting>();
  readonly #open = new Map<string, Open>();
  readonly #json = new TraceJson();
  readonly #said = new SaidTexts();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  readonly #began_ms = Date.now();

  constructor(call: RunCall, outbox: Outbox) {
    this.#call = call;
    this.#outbox = outbox;
  }

  async createRun(run: Fields): Promise<void> {
    const id = String(run.id);
    if (this.#isOver) return;
    if (!run.end_time) this.#open.set(id, { dotted_order: this.#place(run), inputs: undefined });
    // A later attempt goes on with the trace: it knows neither the input nor the start.
    const kind = id === this.#call.run_id && this.#call.resuming ? "patch" : "post";
    this.#waiting.set(id, { kind, run: kept(run) });
    this.#schedule();
  }

  async updateRun(id: string, run: Fields): Promise<void> {
    if (this.#isOver) return;
    const before = this.#waiting.get(id);
    const change = before ? run : this.#news(id, run);
    const kind = before?.kind ?? "patch";
    this.#waiting.set(id, { kind, run: { ...before?.run, ...withoutUndefined(kept(change)), id } });
    if (run.end_time) this.#open.delete(id);
    this.#schedule();
  }

  /** What else the SDKs call on a client: everything is sent without their asking. */
  async awaitPendingTraceBatches(): Promise<void> {}
  async flush(): Promise<void> {}

  /** The root of an agent that has no tracer of its own. */
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

  /** The run is over: nothing that it began stays open, its root least of all. */
  finish(failure: AgentFailure | null) {
    const { run_id } = this.#call;
    const end_time = new Date().toISOString();
    for (const [id, { dotted_order }] of this.#open) {
      const error = id === run_id ? failure && textOf(failure) : CUT_OFF;
      const end = { trace_id: run_id, dotted_order, end_time, ...(error && { error }) };
      void this.updateRun(id, end);
    }
    clearTimeout(this.#timer);
    this.#isOver = true;
  }

  /** Whether what is not sent is quickly written down, and may go with the end of the run. */
  get isBrief(): boolean {
    return this.#waiting.size <= BRIEF_RUNS && this.#outbox.said_bytes <= BRIEF_BYTES;
  }

  /** The next batch of what is not sent. */
  take(): TraceBatch {
    const ops = this.#take(() => true);
    return { ops, isLast: this.#waiting.size === 0 };
  }

  /** What ended and belongs to what the batch makes final: after a crash nobody would tell it again. */
  ride(batch: Op[]): Op[] {
    if (Date.now() - this.#began_ms < SEND_AFTER_MS) return [];
    const isFinal = batch.some(({ op }) => op === "checkpoint" || op === "writes");
    return isFinal ? this.#take(({ end_time }) => Boolean(end_time)) : [];
  }

  /** `isOne`: all of it goes in one call, so that one may say what it has in common with another. */
  #take(isWanted: (run: Fields) => boolean, isOne = true): TraceOp[] {
    const ops: TraceOp[] = [];
    let characters = 0;
    let payloads = 0;
    for (const [id, waiting] of this.#waiting) {
      if (characters >= BATCH_CHARACTERS || payloads >= BATCH_PAYLOAD_CHARACTERS) break;
      if (!isWanted(waiting.run)) continue;
      this.#waiting.delete(id);
      const { kind } = waiting;
      const told = this.#tell(id, waiting);
      characters += charactersOf(told);
      payloads += payloadCharactersOf(told);
      ops.push({ op: "trace", kind, id, open: this.#sent(id, waiting), ...told });
      if (!isOne) this.#said.endBatch();
    }
    this.#json.endBatch();
    this.#said.endBatch();
    return ops;
  }

  #sent(id: string, { run }: Waiting): string | null {
    const open = this.#open.get(id);
    if (!open) return null;
    open.inputs = run.inputs;
    return open.dotted_order;
  }

  /** What a patch need not say again: who the run is, and what it was given. */
  #news(id: string, run: Fields): Fields {
    const open = this.#open.get(id);
    if (open?.inputs === undefined) return run;
    const { name: _n, run_type: _r, start_time: _s, tags: _t, serialized: _l, ...news } = run;
    return { ...news, inputs: isSameInput(open.inputs, run.inputs) ? undefined : run.inputs };
  }

  #schedule() {
    if (this.#timer !== undefined || this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // What the run itself has to say goes first.
      if (this.#outbox.isBehind) return this.#schedule();
      for (const op of this.#take(() => true, false)) this.#outbox.push(op);
      if (this.#waiting.size > 0) this.#schedule();
    }, SEND_AFTER_MS);
  }

  #tell(id: string, { kind, run }: Waiting): Pick<TraceOp, "data" | "texts"> {
    const { trace, config, graph_id, run_id, resuming } = this.#call;
    const { langsmith_project, langsmith_example_id } = config.configurable ?? {};
    const isRoot = id === run_id;
    const texts: TraceOp["texts"] = {};
    const fields = Object.entries({
      ...run,
      ...this.#lineage(run),
      ...(isRoot && { name: graph_id, start_time: trace.start_time }),
      ...(isRoot && resuming && { inputs: undefined }),
      ...(isRoot &&
        langsmith_example_id !== undefined && { reference_example_id: langsmith_example_id }),
      ...(langsmith_project !== undefined && { session_name: langsmith_project }),
      ...((kind === "post" || run.extra !== undefined) && { extra: this.#extra(run.extra) }),
    }).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const pieces = this.#json.cut(value);
      const isApart = isPayload(name) && pieces.length >= APART_CHARACTERS;
      if (isApart) texts[name] = this.#said.tell(pieces);
      return isApart ? [] : [`${JSON.stringify(name)}:${pieces.texts.join("")}`];
    });
    return { data: `{${fields.join()}}`, ...(Object.keys(texts).length > 0 && { texts }) };
  }

  #lineage(run: Fields): Fields {
    return typeof run.dotted_order === "string" ? { dotted_order: this.#place(run) } : {};
  }

  /** Every attempt at a run has one root: the tree hangs below the start of the first. */
  #place({ dotted_order }: Fields): string {
    const [, ...below] = String(dotted_order).split(".");
    return [this.#call.trace.dotted_order, ...below].join(".");
  }

  #extra(extra: unknown): Fields {
    const own = isFields(extra) ? extra : {};
    const metadata = isFields(own.metadata) ? own.metadata : {};
    return { ...own, metadata: { ...metadata, ...this.#call.trace.metadata } };
  }
}

function textOf({ error, message, stack }: AgentFailure): string {
  return stack ?? `${error}: ${message}`;
}

function isPayload(name: string): name is TracePayload {
  return name === "inputs" || name === "outputs";
}
