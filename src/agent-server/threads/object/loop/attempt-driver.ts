import { areIsolatesRemote } from "../../../../control-plane/deployments/isolate/isolate.ts";
import type { Op, RunOutcome } from "../../../../isolate/contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { isRecord } from "../../../../shared/guards.ts";
import { log } from "../../../../shared/log.ts";
import { release } from "../../../../shared/rpc.ts";
import { createFeedbackUrl } from "../../../../traces/feedback/feedback-url-service.ts";
import { callAgent } from "../../contract/agent-calls.ts";
import type { Loss } from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { parseOutcome } from "../boundary/answers.ts";
import { EVENT_LIMIT_TEXT, MAX_EVENT_CHARACTERS } from "../boundary/limits.ts";
import { opsBeforeRefusal, parseOps } from "../boundary/ops.ts";
import { failedOutcome, messageOf } from "../storage/outcomes.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { RunAttempt } from "./attempt.ts";
import { toRunCall, withdrawAnswers } from "./graph-calls.ts";
import { inQuarantine, LostAloneError } from "./quarantine.ts";
import { authenticateRun, refusalOfPrincipal } from "./run-principal.ts";
import { admitState, isMemoryFull } from "./state-admission.ts";
import { applierFor, ThreadHost } from "./thread-host.ts";
import type { TraceCollector } from "./trace-collector.ts";

/**
 * The loop that started the attempt. `isLive`: whether the attempt is the one whose results the loop stores. A
 * cancelled attempt stays live while its last checkpoint is awaited.
 */
export type AttemptOwner = {
  isLive(attempt: RunAttempt): boolean;
  /** Writes a batch. Returns the characters of all events of the run, 0 for a batch without events. */
  commit(run_id: string, ops: Op[]): number;
  /** `hasWholeTrace`: the outcome has the last operations of the trace. */
  end(run: StoredRun, outcome: RunOutcome, options?: { hasWholeTrace: boolean }): void;
  retry(run: StoredRun, loss: Loss, reason: string): void;
};

function lossBy(error: unknown): Loss {
  const isAlone = error instanceof LostAloneError;
  if (AppError.from(isAlone ? error.cause : error).code === "unavailable") return "outage";
  return isAlone ? "alone" : "isolate";
}

/** Calls the isolate for attempts at runs, and checks what it sends. */
export class AttemptDriver {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #traces: TraceCollector;
  readonly #owner: AttemptOwner;

  constructor(env: Env, store: ThreadStore, traces: TraceCollector, owner: AttemptOwner) {
    this.#env = env;
    this.#store = store;
    this.#traces = traces;
    this.#owner = owner;
  }

  /** Version of the Worker that makes the attempts. */
  get version(): string {
    return this.#env.VERSION.id;
  }

  /** Returns the cause of the loss of a run's newest attempt, after the process of the thread has ended. */
  lossOf({ version }: StoredRun): Loss {
    if (version !== this.version) return "upgrade";
    return areIsolatesRemote() ? "main_process" : "restart";
  }

  async drive(attempt: RunAttempt) {
    const { run } = attempt;
    this.#traces.track(attempt);
    const call = (quarantine?: string) => this.#call(attempt, quarantine);
    try {
      const refusal = await refusalOfPrincipal(this.#env, attempt, this.#store.thread.outline());
      if (refusal && this.#owner.isLive(attempt)) return this.#owner.end(run, refusal);
      const { workspace_id } = this.#store.thread.header();
      const name = `${run.run_id}:${run.attempt}`;
      await (attempt.isSuspect ? inQuarantine(workspace_id, name, call) : call());
    } catch (error) {
      log.warn("attempt_lost", { run_id: run.run_id, attempt: run.attempt, error: String(error) });
      if (this.#owner.isLive(attempt)) this.#owner.retry(run, lossBy(error), messageOf(error));
    } finally {
      attempt.close();
      this.#traces.release(attempt);
    }
  }

  async #call(attempt: RunAttempt, quarantine: string | undefined) {
    // The run may be cancelled while its principal is checked, or while it waits for a quarantine.
    if (!this.#owner.isLive(attempt)) return;
    const { run } = attempt;
    const revision = quarantine === undefined ? run.revision : { ...run.revision, quarantine };
    const host = this.#hostOf(attempt);
    const outcome = await this.#admit(attempt, () =>
      callAgent(this.#env, revision, (agent) => {
        const whole = attempt.takeWhole();
        withdrawAnswers(whole, this.#store);
        return agent.run(toRunCall(whole, this.#store), host);
      }),
    );
    if (outcome) await this.#handleOutcome(attempt, outcome).finally(() => release(outcome));
  }

  /**
   * Calls once the isolate of this object has room for the state.
   * @returns `null` when the attempt ended before the call
   */
  async #admit<T>(attempt: RunAttempt, call: () => Promise<T>): Promise<T | null> {
    const callLive = async () => (this.#owner.isLive(attempt) ? call() : null);
    while (this.#owner.isLive(attempt)) {
      try {
        const bytes = this.#store.checkpoints.headBytes();
        return await admitState(bytes, callLive, attempt.begun.promise);
      } catch (error) {
        if (!isMemoryFull(error)) throw error;
      }
    }
    return null;
  }

  #hostOf(attempt: RunAttempt): ThreadHost {
    return new ThreadHost(
      this.#store,
      (ops) => this.#commit(attempt, ops),
      attempt.cancelled,
      async (body) => authenticateRun(this.#liveRun(attempt), body),
      applierFor(this.#env, () => this.#liveRun(attempt, attempt.isInGrace)),
    );
  }

  async #handleOutcome(attempt: RunAttempt, sent: unknown) {
    const { run } = attempt;
    const outcome = this.#parse(attempt, () => parseOutcome(sent), {
      error: "InvalidOutcomeError",
      ops: isRecord(sent) ? sent.ops : null,
    });
    if (!outcome.failure) outcome.ops.push(...(await feedbackOps(this.#env, run)));
    const isLive = this.#owner.isLive(attempt);
    if (isLive) this.#owner.end(run, outcome, { hasWholeTrace: outcome.traces === null });
    attempt.close();
    if (isLive) outcome.ops = [];
    // Frees the memory of the state while the isolate sends the rest of its traces.
    outcome.summary = null;
    if (isRecord(sent)) Object.assign(sent, { ops: null, summary: null });
    await this.#traces.collect(attempt, outcome, isLive);
  }

  /**
   * Ends the run when its isolate sends invalid data, or too much. Stores the valid operations before the invalid one:
   * they may include the user's input and steps that have ended. Later commits of the isolate are refused unread.
   */
  #parse<T extends { bytes: number }>(
    attempt: RunAttempt,
    parse: () => T,
    onRefusal: OnRefusal,
  ): T {
    try {
      const parsed = parse();
      attempt.count(parsed.bytes);
      return parsed;
    } catch (reason) {
      const ops = opsBeforeRefusal(onRefusal.ops);
      if (this.#owner.isLive(attempt))
        this.#refuse(attempt, onRefusal.error, messageOf(reason), ops);
      throw reason;
    }
  }

  #liveRun(attempt: RunAttempt, isInGrace = false): StoredRun {
    if (this.#owner.isLive(attempt) || isInGrace) return attempt.run;
    throw new AppError("conflict", "This attempt of the run has ended.");
  }

  #commit(attempt: RunAttempt, sent: unknown) {
    const { run_id } = this.#liveRun(attempt);
    attempt.begun.resolve();
    const { ops } = this.#parse(attempt, () => parseOps(sent), {
      error: "InvalidCommitError",
      ops: sent,
    });
    const characters = this.#owner.commit(run_id, ops);
    if (characters > MAX_EVENT_CHARACTERS)
      this.#refuse(attempt, "EventLimitError", EVENT_LIMIT_TEXT);
  }

  #refuse(attempt: RunAttempt, error: string, message: string, ops: Op[] = []) {
    attempt.cancel({ grace: false });
    this.#owner.end(attempt.run, { ...failedOutcome(error, message), ops });
  }
}

/** `error`: name of the run's error when a message is refused. `ops`: the unparsed operations of the message. */
type OnRefusal = { error: string; ops: unknown };

/** Returns the event with a feedback URL for each of the run's `feedback_keys`, or nothing for a run without keys. */
async function feedbackOps(env: Env, run: StoredRun): Promise<Op[]> {
  const { run_id, created_by, kwargs } = run;
  if (!kwargs.feedback_keys?.length) return [];
  const { workspace_id } = created_by.caller;
  const urls = await Promise.all(
    kwargs.feedback_keys.map(async (key) => [
      key,
      await createFeedbackUrl(env, created_by.origin, { workspace_id, run_id, key }),
    ]),
  );
  return [{ op: "event", event: "feedback", data: JSON.stringify(Object.fromEntries(urls)) }];
}
