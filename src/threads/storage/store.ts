import type { Op } from "../../isolate/contract.ts";
import { Checkpoints } from "./checkpoints.ts";
import { Events } from "./events.ts";
import { isMigrated, migrate } from "./migrations.ts";
import { Parts } from "./parts.ts";
import { Runs } from "./runs.ts";
import { Thread } from "./thread.ts";

/** All that one thread keeps. Calls are synchronous; what stands or falls together is one transaction. */
export class ThreadStore {
  readonly thread: Thread;
  readonly runs: Runs;
  readonly events: Events;
  readonly checkpoints: Checkpoints;
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    const parts = new Parts(storage.sql);
    this.#storage = storage;
    this.thread = new Thread(storage.sql, parts);
    this.runs = new Runs(storage.sql, parts);
    this.events = new Events(storage.sql, parts);
    this.checkpoints = new Checkpoints(storage.sql, parts);
  }

  get exists(): boolean {
    return isMigrated(this.#storage);
  }

  create() {
    migrate(this.#storage);
  }

  transaction<T>(work: () => T): T {
    return this.#storage.transactionSync(work);
  }

  /** Resolves when everything written so far survives a crash. */
  durable(): Promise<void> {
    return this.#storage.sync();
  }

  /** Applies a batch (of a run, or of a state update without one) and returns what the run has said in all, in characters of events. */
  apply(run_id: string | null, ops: Op[]): number {
    let characters = 0;
    for (const op of ops) {
      if (op.op === "checkpoint") this.checkpoints.put(run_id, op, op.values);
      else if (op.op === "writes") {
        this.checkpoints.putWrites(run_id, op.ns, op.checkpoint_id, op.writes);
      } else if (run_id !== null) {
        this.events.append(run_id, op.event, op.data);
        characters += op.data.length;
      }
    }
    return run_id === null || characters === 0 ? 0 : this.runs.addEventBytes(run_id, characters);
  }

  /** Forgets a run as if it had never been: its row, its events and its checkpoints. */
  undo(run_id: string) {
    this.checkpoints.deleteOf(run_id);
    this.events.deleteOf(run_id);
    this.runs.delete(run_id);
  }
}
