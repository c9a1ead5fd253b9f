import { z } from "zod";
import { parseAnswer } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import { readRevisionVariables } from "../../../../control-plane/deployments/isolate/revision-code.ts";
import type { RunOutcome } from "../../../../isolate/contract.ts";
import type { TraceBatch, TraceOp } from "../../../../isolate/trace-contract.ts";
import { type HiddenFields, hiddenFieldsOf } from "../../../../isolate/tracing/hidden-fields.ts";
import { log } from "../../../../shared/log.ts";
import { agentOf } from "../../contract/agent-calls.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { parseTraceBatch } from "../boundary/answers.ts";
import type { ThreadStore } from "../storage/store.ts";
import { beginTrace, endAttempt, endTrace, type OpenTrace } from "../storage/trace-roots.ts";
import type { RunAttempt } from "./attempt.ts";

type TraceListener = {
  onOps: () => void;
  /** Called with operations that arrive after the thread was deleted. */
  onOrphans: (traces: TraceOp[]) => void;
};

/**
 * Counted for each batch beside its bytes: an isolate that never sends the last batch reaches the limit of its attempt.
 */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
const LAST_BATCH: TraceBatch = { ops: [], isLast: true };

/** Collects traces of ended runs from their isolates, and ends the traces of lost isolates. */
export class TraceCollector {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #listener: TraceListener;
  /** Attempts whose isolate may send more of its trace. */
  readonly #tracked = new Set<RunAttempt>();

  constructor(env: Env, store: ThreadStore, listener: TraceListener) {
    this.#env = env;
    this.#store = store;
    this.#listener = listener;
  }

  /**
   * Opens the trace at the first attempt. At later attempts, ends the trace runs that the previous attempt left open.
   */
  open(run: StoredRun) {
    const { traces } = this.#store;
    const { run_id } = run;
    const now = new Date().toISOString();
    const trace = traces.getOpen(run_id);
    if (trace) traces.append(run_id, endAttempt(run_id, trace, now));
    else traces.setOpen(run_id, beginTrace(run, now));
  }

  /** Whether an isolate may send more. */
  get isCollecting(): boolean {
    return this.#tracked.size > 0;
  }

  track(attempt: RunAttempt) {
    this.#tracked.add(attempt);
  }

  release(attempt: RunAttempt) {
    const isWhole = !this.#tracked.delete(attempt);
    const { run_id } = attempt.run;
    if (!isWhole && this.#store.exists && this.#isLost(run_id)) this.#end(run_id);
  }

  /**
   * Collects the rest of a trace after the attempt has ended. `isApplied`: whether the operations of the outcome are
   * stored. Those of an attempt that is not live, such as a cancelled one, are not: only its traces are stored here.
   */
  async collect(attempt: RunAttempt, { ops, traces }: RunOutcome, isApplied: boolean) {
    const { run_id } = attempt.run;
    try {
      if (!isApplied) {
        const traceOps = ops.filter((op) => op.op === "trace");
        this.#append(run_id, { ops: traceOps, isLast: traces === null });
      }
      for (let isLast = traces === null; !isLast; ) {
        const batch = parseTraceBatch((await traces?.()) ?? LAST_BATCH);
        attempt.count(batch.bytes + BATCH_OVERHEAD_BYTES);
        isLast = batch.isLast;
        this.#append(run_id, batch);
      }
      this.#tracked.delete(attempt);
      if (!isApplied || traces !== null) this.#listener.onOps();
    } catch (error) {
      log.warn("traces_lost", { run_id, error: String(error) });
    }
  }

  #append(run_id: string, { ops, isLast }: TraceBatch) {
    if (!this.#store.exists) {
      if (ops.length > 0) this.#listener.onOrphans(ops);
      return;
    }
    const { runs, traces } = this.#store;
    this.#store.transaction(() => {
      traces.append(run_id, ops);
      // An older attempt may respond while the next one runs.
      if (isLast && !runs.queue.isInFlight(run_id)) traces.close(run_id);
    });
  }

  /** Ends the traces of ended runs that a restart cut off. */
  closeLost() {
    for (const run_id of this.#store.runs.withOpenTrace()) this.#end(run_id);
  }

  /** Ends the trace of a run whose row is about to be deleted. A trace without a root is dropped. */
  closeNow(run_id: string) {
    const run = this.#store.runs.get(run_id);
    const trace = this.#store.traces.getOpen(run_id);
    if (run && trace?.hasRoot) this.#appendEnd(run, trace);
  }

  #isLost(run_id: string): boolean {
    const { runs } = this.#store;
    if (runs.queue.isInFlight(run_id) || runs.trace(run_id) === null) return false;
    return ![...this.#tracked].some(({ run }) => run.run_id === run_id);
  }

  #end(run_id: string) {
    const trace = this.#store.traces.getOpen(run_id);
    const run = this.#store.runs.get(run_id);
    if (!run || !trace) return;
    if (!trace.hasRoot) return void this.#endWithoutRoot(run);
    this.#store.transaction(() => this.#appendEnd(run, trace));
    this.#listener.onOps();
  }

  async #endWithoutRoot(run: StoredRun) {
    const hidden = await this.#hiddenFieldsOf(run).catch((error: unknown) => {
      log.warn("traces_lost", { run_id: run.run_id, error: String(error) });
      return null;
    });
    const trace = this.#store.exists && this.#store.traces.getOpen(run.run_id);
    if (!trace) return;
    this.#store.transaction(() => {
      if (hidden) this.#appendEnd(run, trace, hidden);
      else this.#store.traces.close(run.run_id);
    });
    this.#listener.onOps();
  }

  /** Reads the agent's environment, which defines what is traced. @returns `null` when tracing is off */
  async #hiddenFieldsOf({ revision }: StoredRun): Promise<HiddenFields | null> {
    const answer = await agentOf(this.#env, revision).isTraced();
    if (!parseAnswer("isTraced", z.boolean(), answer)) return null;
    return hiddenFieldsOf(await readRevisionVariables(this.#env, revision));
  }

  #appendEnd(run: StoredRun, trace: OpenTrace, hidden?: HiddenFields) {
    const { traces } = this.#store;
    traces.append(run.run_id, endTrace(run, trace, hidden));
    traces.close(run.run_id);
  }
}
