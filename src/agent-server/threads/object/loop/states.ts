import { parseAnswer } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import type {
  GraphCall,
  HistoryCall,
  StateCall,
  UpdateCall,
} from "../../../../isolate/contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { applyToStore } from "../../../store/service.ts";
import { type AgentStub, callAgent, readAgent } from "../../contract/agent-calls.ts";
import type { RevisionRef } from "../../contract/records.ts";
import { threadStatusAfter } from "../../contract/run-decisions.ts";
import type { StateAnswer } from "../../contract/state-answers.ts";
import { TextAnswer, UpdateAnswer } from "../boundary/answers.ts";
import { MAX_PAGE_BYTES } from "../boundary/limits.ts";
import { parseOps } from "../boundary/ops.ts";
import type { ThreadStore } from "../storage/store.ts";
import { toGraphCall } from "./graph-calls.ts";
import { admitState } from "./state-admission.ts";
import { ThreadHost } from "./thread-host.ts";

type At = Pick<StateCall, "ns" | "checkpoint_id">;
type GraphRead = { states: number; active: RevisionRef; at: At | null };
type GraphWork = (agent: AgentStub, graph: GraphCall) => Promise<StateAnswer>;

export type HistoryPart = Omit<HistoryCall, keyof GraphCall>;
export type UpdatePart = Omit<UpdateCall, keyof GraphCall>;
export type StatePart = Omit<StateCall, keyof GraphCall>;

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
      const sent = await readAgent(() => agent.getState({ ...graph, ...call }, host));
      return parseAnswer("getState", TextAnswer, sent);
    });
  }

  history(call: HistoryPart, active: RevisionRef) {
    return this.#readGraph({ states: call.limit, active, at: null }, async (agent, graph) => {
      const host = new ThreadHost(this.#store, null);
      const sent = await readAgent(() => agent.getHistory({ ...graph, ...call }, host));
      return parseAnswer("getHistory", TextAnswer, sent);
    });
  }

  async update(call: UpdatePart, active: RevisionRef): Promise<StateAnswer> {
    if (!this.#isFree()) return { ok: false, error: "busy" };
    return this.#callGraph(active, call, async (agent, graph) => {
      // A run accepted during the call began from the state before the update.
      const apply = (sent: unknown) => {
        if (!this.#isFree()) throw new AppError("conflict", "Thread is busy");
        const { ops } = parseOps(sent);
        this.#store.transaction(() => this.#store.apply(null, ops));
      };
      const { deployment_id } = this.#store.thread.header();
      const applyOps = (ops: unknown) => applyToStore(this.#env, deployment_id, ops);
      const host = new ThreadHost(this.#store, apply, Promise.resolve(false), null, applyOps);
      const sent = await agent.updateState({ ...graph, ...call }, host);
      const answer = parseAnswer("updateState", UpdateAnswer, sent);
      if (!answer.ok) return this.#isFree() ? answer : { ok: false, error: "busy" };
      const { checkpoint, summary } = answer.value;
      const status = threadStatusAfter({ failed: false, next: summary.next }, false);
      if (this.#isFree()) {
        this.#store.transaction(() =>
          this.#store.thread.settle(status, summary, { isStopped: this.#store.thread.isStopped }),
        );
      }
      this.#onChange();
      return { ok: true, value: JSON.stringify({ checkpoint }) };
    });
  }

  #isFree(): boolean {
    return this.#store.runs.queue.isEmpty;
  }

  /** `states`: number of states that the graph reads. Their bytes wait for room in the isolate. */
  #readGraph({ states, active, at }: GraphRead, work: GraphWork): Promise<StateAnswer> {
    const bytes = Math.min(states * this.#store.checkpoints.headBytes(), MAX_PAGE_BYTES);
    return admitState(bytes, () => this.#callGraph(active, at, work));
  }

  /** Uses the revision of the last run, or the active one for a thread without runs. */
  async #callGraph(active: RevisionRef, at: At | null, work: GraphWork): Promise<StateAnswer> {
    if (!this.#store.exists) return { ok: false, error: "thread_missing" };
    const isThere = !at?.checkpoint_id || this.#store.checkpoints.has(at.ns, at.checkpoint_id);
    if (!isThere) return { ok: false, error: "checkpoint_missing" };
    const graph = toGraphCall(this.#store.thread.outline());
    if (!graph) return { ok: false, error: "graph_missing" };
    const revision = this.#store.thread.header().revision ?? active;
    return callAgent(this.#env, revision, (agent) => work(agent, graph));
  }
}
