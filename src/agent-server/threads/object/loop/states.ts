import { parseAnswer } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import type {
  AgentEntrypoint,
  GraphCall,
  HistoryCall,
  Op,
  StateCall,
  UpdateCall,
} from "../../../../isolate/contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { applyToStore } from "../../../store/service.ts";
import { asRetryableRead, callAgent } from "../../contract/agent-calls.ts";
import type { RevisionRef } from "../../contract/records.ts";
import { threadStatusAfter } from "../../contract/run-decisions.ts";
import type { StateAnswer } from "../../contract/state-answers.ts";
import { TextAnswer, UpdateAnswer } from "../boundary/answers.ts";
import { MAX_PAGE_BYTES, MAX_RUN_BYTES } from "../boundary/limits.ts";
import { parseOps } from "../boundary/ops.ts";
import type { ThreadStore } from "../storage/store.ts";
import { toGraphCall } from "./graph-calls.ts";
import { admitState } from "./state-admission.ts";
import { ThreadHost } from "./thread-host.ts";

type At = Pick<StateCall, "ns" | "checkpoint_id">;
type GraphRead = { states: number; active: RevisionRef; at: At | null };
type GraphWork = (agent: AgentEntrypoint, graph: GraphCall) => Promise<StateAnswer>;

export type HistoryPart = Omit<HistoryCall, keyof GraphCall>;
export type UpdatePart = Omit<UpdateCall, keyof GraphCall>;
export type StatePart = Omit<StateCall, keyof GraphCall>;

/** Maximum attempts of an update. An attempt fails when another writer has changed the state that it read. */
const MAX_UPDATE_ATTEMPTS = 5;

const BYTE_LIMIT_TEXT = `The update sent more than ${MAX_RUN_BYTES} bytes of checkpoints: send fewer supersteps at once, or make the state smaller.`;

/** The writes of an update. They are refused when the state is no longer the one that the update has read. */
class StateWrite {
  readonly #store: ThreadStore;
  #version: number;
  #hasBegun = false;
  #hasEnded = false;
  #bytesLeft = MAX_RUN_BYTES;

  constructor(store: ThreadStore) {
    this.#store = store;
    this.#version = store.checkpoints.version;
  }

  /** Whether no run is in flight, and nothing else has changed the state. */
  get isCurrent(): boolean {
    return this.#store.runs.queue.isEmpty && this.#store.checkpoints.version === this.#version;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Refuses later commits and operations of the store. */
  end() {
    this.#hasEnded = true;
  }

  /** @throws AppError when the update has ended */
  assertOpen() {
    if (this.#hasEnded) throw new AppError("conflict", "This update has ended.");
  }

  apply(sent: unknown) {
    this.assertOpen();
    if (!this.isCurrent) throw new AppError("conflict", "Thread is busy");
    const ops = this.#parse(sent);
    this.#store.transaction(() => this.#store.apply(null, ops));
    this.#version = this.#store.checkpoints.version;
    this.#hasBegun = true;
  }

  /** Parses a commit. Later commits of an isolate that sends invalid data, or too much, are refused unread. */
  #parse(sent: unknown): Op[] {
    try {
      const { ops, bytes } = parseOps(sent);
      this.#bytesLeft -= bytes;
      if (this.#bytesLeft < 0) throw new AppError("too_large", BYTE_LIMIT_TEXT);
      return ops;
    } catch (error) {
      this.end();
      throw error;
    }
  }
}

/** Reads and updates the state through the graph, which knows the channels. */
export class ThreadStates {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #onChange: () => void;

  constructor(env: Env, store: ThreadStore, onChange: () => void) {
    this.#env = env;
    this.#store = store;
    this.#onChange = onChange;
  }

  get(call: StatePart, active: RevisionRef) {
    return this.#readGraph({ states: 1, active, at: call }, async (agent, graph) => {
      const host = new ThreadHost(this.#store, null);
      const sent = await asRetryableRead(() => agent.getState({ ...graph, ...call }, host));
      return parseAnswer("getState", TextAnswer, sent);
    });
  }

  history(call: HistoryPart, active: RevisionRef) {
    return this.#readGraph({ states: call.limit, active, at: null }, async (agent, graph) => {
      const host = new ThreadHost(this.#store, null);
      const sent = await asRetryableRead(() => agent.getHistory({ ...graph, ...call }, host));
      return parseAnswer("getHistory", TextAnswer, sent);
    });
  }

  async update(call: UpdatePart, active: RevisionRef): Promise<StateAnswer> {
    for (let n = 0; n < MAX_UPDATE_ATTEMPTS; n++) {
      if (!this.#store.runs.queue.isEmpty) break;
      const answer = await this.#callGraph(active, call, (agent, graph) =>
        this.#updateGraph(agent, graph, call),
      );
      if (answer !== "outdated") return answer;
    }
    return { ok: false, error: "busy" };
  }

  /** @returns `"outdated"` when the update failed because the state changed between its read and the first write */
  async #updateGraph(
    agent: AgentEntrypoint,
    graph: GraphCall,
    call: UpdatePart,
  ): Promise<StateAnswer | "outdated"> {
    const { thread } = this.#store;
    const write = new StateWrite(this.#store);
    const apply = (ops: unknown) => write.apply(ops);
    const { deployment_id } = thread.header();
    const applyOps = async (ops: unknown) => {
      write.assertOpen();
      return applyToStore(this.#env, deployment_id, ops);
    };
    const host = new ThreadHost(this.#store, apply, Promise.resolve(false), null, applyOps);
    const answering = agent.updateState({ ...graph, ...call }, host);
    const sent = await answering.finally(() => write.end());
    const answer = parseAnswer("updateState", UpdateAnswer, sent);
    if (!answer.ok && write.isCurrent) return answer;
    if (!answer.ok) return write.hasBegun ? { ok: false, error: "busy" } : "outdated";
    const { checkpoint, summary } = answer.value;
    const status = threadStatusAfter({ failed: false, next: summary.next }, false);
    if (write.isCurrent) {
      const { isStopped } = thread;
      this.#store.transaction(() => thread.settle(status, summary, { isStopped }));
    }
    this.#onChange();
    return { ok: true, value: JSON.stringify({ checkpoint }) };
  }

  /** Calls once the isolate of this object has room for the states. `states`: number of states that the graph reads. */
  #readGraph({ states, active, at }: GraphRead, work: GraphWork): Promise<StateAnswer> {
    const bytes = Math.min(states * this.#store.checkpoints.headBytes(), MAX_PAGE_BYTES);
    return admitState(bytes, () => this.#callGraph(active, at, work));
  }

  /** Uses the revision of the last run, or the active one for a thread without runs. */
  async #callGraph<T>(
    active: RevisionRef,
    at: At | null,
    work: (agent: AgentEntrypoint, graph: GraphCall) => Promise<T>,
  ): Promise<T | StateAnswer> {
    if (!this.#store.exists) return { ok: false, error: "thread_missing" };
    const isThere = !at?.checkpoint_id || this.#store.checkpoints.has(at.ns, at.checkpoint_id);
    if (!isThere) return { ok: false, error: "checkpoint_missing" };
    const graph = toGraphCall(this.#store.thread.outline());
    if (!graph) return { ok: false, error: "graph_missing" };
    const revision = this.#store.thread.header().revision ?? active;
    return callAgent(this.#env, revision, (agent) => work(agent, graph));
  }
}
