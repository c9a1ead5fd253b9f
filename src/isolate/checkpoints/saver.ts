import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { CheckpointQuery, LoadedCheckpoint, StoredWrite } from "../checkpoint-contract.ts";
import type { Host, Op } from "../contract.ts";
import type { Outbox } from "../outbox.ts";
import { Heads } from "./heads.ts";
import { listCheckpoints } from "./history.ts";
import { dumpValues, loadValue, serializer, type Versions } from "./json-plus.ts";
import { beforeStop, type StopsWithin } from "./lost-stops.ts";
import {
  inTaskOrder,
  isCommandUpdate,
  isInterrupt,
  isUpdate,
  WRITES_IDX_MAP,
  withoutAnswered,
  withoutLastAnswers,
} from "./pending-writes.ts";
import { parseCheckpointJson } from "./revive.ts";
import { withoutUnseenChange, withUnseenChange } from "./seen-versions.ts";
import { toCheckpointJson } from "./serializer.ts";
import { StateSizes } from "./state-sizes.ts";
import { nextVersion } from "./versions.ts";

type SaverOptions = {
  host: Host;
  thread_id: string;
  /** Receives what is written; absent for calls that only read. */
  outbox?: Outbox;
  /** Newest root checkpoint, `null` on a new thread. When absent, it is read from the thread. */
  head?: LoadedCheckpoint | null;
  /** Added to the metadata of each checkpoint. */
  metadata?: Record<string, unknown>;
  /** `durability: sync`: `put` and `putWrites` resolve when the thread has committed them. */
  sync?: boolean;
  /** Checkpoint whose interrupt the run answers again. */
  answer_again?: string | null;
  /** Adapts a checkpoint, which an earlier revision may have written. */
  adapt?: (checkpoint: Checkpoint, ns: string) => Checkpoint;
  /** Checks the head of a subgraph that the run continues. */
  check_subgraph?: (head: LoadedCheckpoint) => void;
  /** The run in an attempt after its first, `null` in the first: the attempt before it was lost. */
  lost_run?: { run_id: string; stops: StopsWithin } | null;
  /** Limit of all values of a checkpoint. */
  max_state_bytes?: number | undefined;
  /** Whether reads of checkpoints omit pending updates of channels. */
  ignore_updates?: boolean;
};

/** Some versions of LangGraph call the id `interrupt_id`. */
type Interrupt = { id?: string; interrupt_id?: string };

/** Error of a checkpoint that is not in the thread: it may be deleted while the run that begins from it waits. */
class CheckpointNotFoundError extends Error {
  override name = "CheckpointNotFoundError";

  constructor(checkpoint_id: string) {
    super(`Checkpoint ${checkpoint_id} is not in the thread.`);
  }
}

/** Saves checkpoints to the ThreadObject through the outbox. Each channel value is sent once per version. */
export class HostSaver extends BaseCheckpointSaver {
  readonly #options: Omit<SaverOptions, "head">;
  readonly #isNewThread: boolean;
  readonly #heads = new Heads();
  readonly #sizes = new StateSizes();
  /** Updates of a run's command until LangGraph has applied them. */
  #unapplied: (Op & { op: "writes" })[] = [];
  #hasInterrupted = false;

  constructor({ head, ...options }: SaverOptions) {
    super(serializer);
    this.#options = options;
    this.#isNewThread = head === null;
    if (head !== undefined) this.#heads.set("", head);
  }

  /** Returns a saver that reads checkpoints without their pending updates, which a reducer may refuse. */
  withoutUpdates(): HostSaver {
    return new HostSaver({ ...this.#options, ignore_updates: true });
  }

  /** Whether a task has put an interrupt. The stream omits interrupts of nodes with the tag `langsmith:hidden`. */
  get hasInterrupted(): boolean {
    return this.#hasInterrupted;
  }

  override getNextVersion(current: number | undefined): number {
    return nextVersion(current);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const id: string | undefined = config.configurable?.checkpoint_id;
    const loaded = await this.#load(ns, id ?? null);
    if (!loaded && id !== undefined && ns === "") throw new CheckpointNotFoundError(id);
    if (!loaded) return undefined;
    const tuple = await this.#toTuple(loaded);
    if (id === undefined || id !== this.#options.answer_again) return tuple;
    return { ...tuple, pendingWrites: withoutLastAnswers(tuple.pendingWrites ?? []) };
  }

  async #load(ns: string, id: string | null): Promise<LoadedCheckpoint | null> {
    const head = this.#heads.get(ns);
    if (head !== undefined && (id === null || head?.checkpoint_id === id)) {
      // LangGraph keeps it from here on.
      this.#heads.releaseLarge(ns);
      return head;
    }
    // A thread that had no root checkpoint when the call began had none of a subgraph either.
    if (this.#isNewThread && !this.#heads.has(ns) && id === null) return null;
    await this.#options.outbox?.flush();
    const isFirst = !this.#heads.has(ns);
    const stored = await this.#options.host.readCheckpoint(ns, id);
    const isContinued = id === null && isFirst;
    if (isContinued && stored && ns !== "") this.#options.check_subgraph?.(stored);
    const loaded = isContinued ? await this.#beforeStop(stored) : stored;
    if (id === null) {
      this.#heads.set(ns, loaded);
      this.#heads.releaseLarge(ns);
    }
    return loaded;
  }

  async #beforeStop(head: LoadedCheckpoint | null): Promise<LoadedCheckpoint | null> {
    const { host, lost_run } = this.#options;
    return lost_run ? beforeStop(head, { host, ...lost_run }) : head;
  }

  /** Returns the ids of the interrupts that wait at a checkpoint of the root graph, the newest by default. */
  async interruptsAt(checkpoint_id: string | null): Promise<string[]> {
    const loaded = await this.#load("", checkpoint_id);
    const waiting = withoutAnswered(loaded?.writes ?? []).filter(isInterrupt);
    const values = (await Promise.all(waiting.map(loadValue))) as Interrupt[][];
    return values.flat().flatMap(({ id, interrupt_id }) => id ?? interrupt_id ?? []);
  }

  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const query = toQuery(config, options);
    await this.#options.outbox?.flush();
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    const before_id: string | undefined = options.before?.configurable?.checkpoint_id;
    const paged = { ...query, ...(before_id !== undefined && { before_id }) };
    for await (const loaded of listCheckpoints(this.#options.host, paged, limit)) {
      yield await this.#toTuple(loaded);
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: Versions,
  ): Promise<RunnableConfig> {
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const { channel_values, ...rest } = withoutUnseenChange(checkpoint);
    const stored = {
      ns,
      checkpoint_id: checkpoint.id,
      parent_id: config.configurable?.checkpoint_id ?? null,
      // Before LangGraph 0.4 the checkpoint has the arguments of sends, such as messages.
      checkpoint: toCheckpointJson(rest),
      metadata: JSON.stringify({ ...this.#options.metadata, ...metadata }),
    };
    const values = await dumpValues(channel_values, newVersions);
    const versions = rest.channel_versions as Versions;
    this.#sizes.grow(ns, versions, values, this.#options.max_state_bytes);
    this.#heads.put({
      ...stored,
      values: this.#heads.collectValues(ns, checkpoint, values),
      writes: [],
    });
    this.#emit({ op: "checkpoint", ...stored, values });
    const { thread_id, sync, outbox } = this.#options;
    if (sync || outbox?.isBehind) await outbox?.flush();
    return { configurable: { thread_id, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    task_id: string,
    path = "",
  ): Promise<void> {
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const checkpoint_id: string = config.configurable?.checkpoint_id;
    const dumped: StoredWrite[] = await Promise.all(
      writes.map(async ([channel, value], index) => {
        const [type, data] = await serializer.dumpsTyped(value);
        return { task_id, path, idx: WRITES_IDX_MAP[channel] ?? index, channel, type, data };
      }),
    );
    const op = { op: "writes", ns, checkpoint_id, writes: dumped } as const;
    // Updates of a command wait until the next operation: if they were stored and a reducer refused them, every later
    // run would fail as well.
    if (isCommandUpdate(task_id, dumped)) this.#unapplied.push(op);
    else this.#emit(op);
    // Flushes late, because these writes may end the step. The checkpoint of the step is then in the same commit.
    const { sync, outbox } = this.#options;
    if (sync) await outbox?.flushSoon();
    else if (outbox?.isBehind) await outbox.flush();
  }

  /** @throws Error always: the ThreadObject deletes threads, and not a graph */
  override async deleteThread(): Promise<void> {
    throw new Error("A graph cannot delete its thread; call DELETE /threads/{thread_id}.");
  }

  #emit(op: Op) {
    const { outbox } = this.#options;
    if (!outbox) throw new Error("This call is read-only: it cannot write a checkpoint.");
    for (const next of [...this.#unapplied.splice(0), op]) {
      if (next.op === "writes") {
        this.#heads.addWrites(next);
        this.#hasInterrupted ||= next.writes.some(isInterrupt);
      }
      outbox.push(next);
    }
  }

  #adapted({ ns, checkpoint }: LoadedCheckpoint, metadata: { run_id?: string }): Checkpoint {
    const { adapt, lost_run } = this.#options;
    const parsed = parseCheckpointJson(checkpoint) as Checkpoint;
    const adapted = adapt?.(parsed, ns) ?? parsed;
    return lost_run && metadata.run_id === lost_run.run_id ? withUnseenChange(adapted) : adapted;
  }

  async #toTuple(loaded: LoadedCheckpoint): Promise<CheckpointTuple> {
    this.#sizes.add(loaded.ns, loaded.values);
    const { thread_id } = this.#options;
    const namespace = { thread_id, checkpoint_ns: loaded.ns };
    const metadata = JSON.parse(loaded.metadata);
    const stored = inTaskOrder(withoutAnswered(loaded.writes));
    const writes = this.#options.ignore_updates
      ? stored.filter((write) => !isUpdate(write))
      : stored;
    const [values, pendingWrites] = await Promise.all([
      Promise.all(loaded.values.map(async (value) => [value.channel, await loadValue(value)])),
      Promise.all(
        writes.map(
          async (write) =>
            [write.task_id, write.channel, await loadValue(write)] as [string, string, unknown],
        ),
      ),
    ]);
    return {
      config: { configurable: { ...namespace, checkpoint_id: loaded.checkpoint_id } },
      checkpoint: {
        ...this.#adapted(loaded, metadata),
        channel_values: Object.fromEntries(values),
      },
      metadata,
      pendingWrites,
      ...(loaded.parent_id !== null && {
        parentConfig: { configurable: { ...namespace, checkpoint_id: loaded.parent_id } },
      }),
    };
  }
}

function toQuery(config: RunnableConfig, options: CheckpointListOptions): CheckpointQuery {
  const { checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  return {
    ...(checkpoint_ns !== undefined && { ns: checkpoint_ns }),
    ...(checkpoint_id !== undefined && { checkpoint_id }),
    ...(options.filter !== undefined && { metadata: options.filter }),
  };
}
