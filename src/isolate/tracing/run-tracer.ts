import type { AgentFailure, Op, RunCall, TraceBatch, TraceOp, TracePayload } from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { charactersOf, payloadCharactersOf, TextDeduplicator } from "../text-deduplicator.ts";
import { TraceJson } from "../trace-json.ts";
import { isFields, isSameInput, sanitizeFields, withoutUndefined } from "./sanitize-fields.ts";

type Fields = Record<string, unknown>;
type Waiting = { kind: TraceOp["kind"]; run: Fields };
/** Open trace run: its dotted order and inputs. */
type Open = { dotted_order: string; inputs: unknown };

/** Shorter runs send traces at their end; a crash of a longer run loses at most this much. */
const SEND_AFTER_MS = 250;
const CUT_OFF = "Interrupted: its run ended before it did.";
/** Limits below which traces travel with the outcome instead of a round trip. */
const BRIEF_RUNS = 16;
const BRIEF_BYTES = 64 * 1024;
/** Minimum length of a payload sent as a separate text. */
const APART_CHARACTERS = 16 * 1024;
/** Size of a batch: one round trip and one transaction of the thread. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** Payload size of a batch with shared texts: the thread keeps 16 Mi characters of a batch. */
const BATCH_PAYLOAD_CHARACTERS = 6 * 1024 * 1024;

/**
 * Collects the traces of a run as the client of LangChain's tracer and of `traceable`. A trace run
 * that starts and ends between two batches is one post.
 */
export class RunTracer {
  readonly #call: RunCall;
  readonly #outbox: Outbox;
  readonly #waiting = new Map<string, Waiting>();
  readonly #open = new Map<string, Open>();
  readonly #json = new TraceJson();
  readonly #texts = new TextDeduplicator();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  readonly #beganMs = Date.now();

  constructor(call: RunCall, outbox: Outbox) {
    this.#call = call;
    this.#outbox = outbox;
  }

  async createRun(run: Fields): Promise<void> {
    const id = String(run.id);
    if (this.#isOver) return;
    if (!run.end_time) this.#open.set(id, { dotted_order: this.#place(run), inputs: undefined });
    // A retry continues the trace without its input and start, so it sends a patch.
    const kind = id === this.#call.run_id && this.#call.resuming ? "patch" : "post";
    this.#waiting.set(id, { kind, run: sanitizeFields(run) });
    this.#schedule();
  }

  async updateRun(id: string, run: Fields): Promise<void> {
    if (this.#isOver) return;
    const before = this.#waiting.get(id);
    const change = before ? run : this.#news(id, run);
    const kind = before?.kind ?? "patch";
    this.#waiting.set(id, {
      kind,
      run: { ...before?.run, ...withoutUndefined(sanitizeFields(change)), id },
    });
    if (run.end_time) this.#open.delete(id);
    this.#schedule();
  }

  /** No-ops of the SDK's client: traces are sent without flushes. */
  async awaitPendingTraceBatches(): Promise<void> {}
  async flush(): Promise<void> {}

  /** Starts the root of an agent without its own tracer. */
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

  /** Whether the remaining traces are small enough to travel with the outcome. */
  get isBrief(): boolean {
    return this.#waiting.size <= BRIEF_RUNS && this.#outbox.total_bytes <= BRIEF_BYTES;
  }

  /** Returns the next batch of traces. */
  drain(): TraceBatch {
    const ops = this.#drain(() => true);
    return { ops, isLast: this.#waiting.size === 0 };
  }

  /**
   * Returns ended trace runs to commit with the batch that completes them: a retry would not send
   * them again.
   */
  piggyback(batch: Op[]): Op[] {
    if (Date.now() - this.#beganMs < SEND_AFTER_MS) return [];
    const isFinal = batch.some(({ op }) => op === "checkpoint" || op === "writes");
    return isFinal ? this.#drain(({ end_time }) => Boolean(end_time)) : [];
  }

  /** `isOne`: all operations travel in one call, so that texts may refer to each other. */
  #drain(isWanted: (run: Fields) => boolean, isOne = true): TraceOp[] {
    const ops: TraceOp[] = [];
    let characters = 0;
    let payloads = 0;
    for (const [id, waiting] of this.#waiting) {
      if (characters >= BATCH_CHARACTERS || payloads >= BATCH_PAYLOAD_CHARACTERS) break;
      if (!isWanted(waiting.run)) continue;
      this.#waiting.delete(id);
      const { kind } = waiting;
      const encoded = this.#encode(id, waiting);
      characters += charactersOf(encoded);
      payloads += payloadCharactersOf(encoded);
      ops.push({ op: "trace", kind, id, open: this.#sent(id, waiting), ...encoded });
      if (!isOne) this.#texts.endBatch();
    }
    this.#json.endBatch();
    this.#texts.endBatch();
    return ops;
  }

  #sent(id: string, { run }: Waiting): string | null {
    const open = this.#open.get(id);
    if (!open) return null;
    open.inputs = run.inputs;
    return open.dotted_order;
  }

  /** Drops fields that the post already sent. */
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
      // The run's own output goes first.
      if (this.#outbox.isBehind) return this.#schedule();
      for (const op of this.#drain(() => true, false)) this.#outbox.push(op);
      if (this.#waiting.size > 0) this.#schedule();
    }, SEND_AFTER_MS);
  }

  #encode(id: string, { kind, run }: Waiting): Pick<TraceOp, "data" | "texts"> {
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
      if (isApart) texts[name] = this.#texts.encode(pieces);
      return isApart ? [] : [`${JSON.stringify(name)}:${pieces.texts.join("")}`];
    });
    return { data: `{${fields.join()}}`, ...(Object.keys(texts).length > 0 && { texts }) };
  }

  #lineage(run: Fields): Fields {
    return typeof run.dotted_order === "string" ? { dotted_order: this.#place(run) } : {};
  }

  /** Moves the tree below the root of the first attempt, which all attempts share. */
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
