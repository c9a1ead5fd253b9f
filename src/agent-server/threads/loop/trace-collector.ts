import { z } from "zod";
import { parseAnswer } from "../../../control-plane/deployments/isolate/agent-answers.ts";
import type { RunOutcome, TraceBatch, TraceOp } from "../../../isolate/contract.ts";
import { log } from "../../../shared/log.ts";
import { parseTraceBatch } from "../boundary/answers.ts";
import type { StoredRun } from "../storage/run-rows.ts";
import type { ThreadStore } from "../storage/store.ts";
import { beginTrace, endAttempt, endTrace } from "../storage/trace-roots.ts";
import { agentOf } from "./agent.ts";
import type { Attempt } from "./attempt.ts";

type Tell = {
  onNews: () => void;
  /** Of a run whose thread was deleted meanwhile. */
  onOrphans: (traces: TraceOp[]) => void;
};

/** Counted for each batch, so that an isolate which never sends the last one is left too. */
const MIN_BATCH_BYTES = 64 * 1024;
const NOTHING_MORE: TraceBatch = { ops: [], isLast: true };

/** Takes what isolates tell of traces once their runs are over, and ends what they could not. */
export class TraceCollector {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #tell: Tell;
  /** Attempts whose isolate may still tell something. */
  readonly #followed = new Set<Attempt>();

  constructor(env: Env, store: ThreadStore, tell: Tell) {
    this.#env = env;
    this.#store = store;
    this.#tell = tell;
  }

  /** Within the transaction that starts an attempt: the first opens the trace, the later ones go on. */
  open(run: StoredRun) {
    const { traces } = this.#store;
    const { run_id } = run;
    const now = new Date().toISOString();
    const trace = traces.of(run_id);
    if (trace) traces.append(run_id, endAttempt(run_id, trace, now));
    else traces.keep(run_id, beginTrace(run, now));
  }

  follow(attempt: Attempt) {
    this.#followed.add(attempt);
  }

  leave(attempt: Attempt) {
    const isWhole = !this.#followed.delete(attempt);
    const { run_id } = attempt.run;
    if (!isWhole && this.#store.exists && this.#isLost(run_id)) this.#end(run_id);
  }

  /**
   * Takes the rest. The run is over for everyone else by now; nothing here can change it. `isApplied`: what
   * came with the outcome is stored; of a run that was cancelled meanwhile it is not.
   */
  async collect(attempt: Attempt, { ops, traces }: RunOutcome, isApplied: boolean) {
    const { run_id } = attempt.run;
    try {
      if (!isApplied) {
        const told = ops.filter((op) => op.op === "trace");
        this.#take(run_id, { ops: told, isLast: traces === null });
      }
      for (let isLast = traces === null; !isLast; ) {
        const batch = parseTraceBatch((await traces?.()) ?? NOTHING_MORE);
        attempt.count(batch.bytes + MIN_BATCH_BYTES);
        isLast = batch.isLast;
        this.#take(run_id, batch);
      }
      this.#followed.delete(attempt);
      if (!isApplied || traces !== null) this.#tell.onNews();
    } catch (error) {
      log.warn("traces_lost", { run_id, error: String(error) });
    }
  }

  #take(run_id: string, { ops, isLast }: TraceBatch) {
    if (!this.#store.exists) {
      if (ops.length > 0) this.#tell.onOrphans(ops);
      return;
    }
    const { runs, traces } = this.#store;
    this.#store.transaction(() => {
      traces.append(run_id, ops);
      // An attempt that was given up may answer while the next one is at work.
      if (isLast && !runs.isInFlight(run_id)) traces.keep(run_id, null);
    });
  }

  /** After a restart: runs that were over before their isolate had told everything. */
  closeLost() {
    for (const run_id of this.#store.runs.withOpenTrace()) this.#end(run_id);
  }

  /** The run's row is about to go: what was told of it does not stay open. */
  closeNow(run_id: string) {
    const run = this.#store.runs.get(run_id);
    const trace = this.#store.traces.of(run_id);
    if (run && trace?.told) this.#append(run, trace);
  }

  #isLost(run_id: string): boolean {
    const { runs } = this.#store;
    if (runs.isInFlight(run_id) || runs.trace(run_id) === null) return false;
    return ![...this.#followed].some(({ run }) => run.run_id === run_id);
  }

  #end(run_id: string) {
    const trace = this.#store.traces.of(run_id);
    const run = this.#store.runs.get(run_id);
    if (!run || !trace) return;
    if (!trace.told) return void this.#endUntold(run);
    this.#store.transaction(() => this.#append(run, trace));
    this.#tell.onNews();
  }

  // Only the agent's own configuration says whether it is traced at all.
  async #endUntold(run: StoredRun) {
    const isTraced = await agentOf(this.#env, run.revision)
      .isTraced()
      .then((answer) => parseAnswer("isTraced", z.boolean(), answer))
      .catch((error: unknown) => {
        log.warn("traces_lost", { run_id: run.run_id, error: String(error) });
        return false;
      });
    const trace = this.#store.exists && this.#store.traces.of(run.run_id);
    if (!trace) return;
    this.#store.transaction(() => {
      if (isTraced) this.#append(run, trace);
      else this.#store.traces.keep(run.run_id, null);
    });
    this.#tell.onNews();
  }

  #append(run: StoredRun, trace: Parameters<typeof endTrace>[1]) {
    const { traces } = this.#store;
    traces.append(run.run_id, endTrace(run, trace, new Date().toISOString()));
    traces.keep(run.run_id, null);
  }
}
