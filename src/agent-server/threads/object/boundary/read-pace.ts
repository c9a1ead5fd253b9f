import type { LoadedCheckpoint } from "../../../../isolate/checkpoint-contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { SerialQueue } from "../../../../shared/work/serial-queue.ts";
import {
  MAX_UNCONFIRMED_BYTES,
  MAX_WAITING_READS,
  READ_BURST_MS,
  READ_BYTES_PER_SECOND,
} from "./limits.ts";

/**
 * Epoch milliseconds at which each workspace has received all that it was sent, at the rate of the limit. Plain
 * numbers: an object cannot await a promise of another one.
 */
const clearAt = new Map<string, number>();

/**
 * Paces the checkpoints that one call of an agent reads. The Worker holds an answer until the isolate has taken
 * it, and RPC does not show when: without a pace, a hundred reads at once hold gigabytes.
 */
export class ReadPace {
  /** Settles when the isolate has every answer that was sent before. `null` where nothing shows it: time decides. */
  confirm: (() => Promise<unknown>) | null = null;
  readonly #queue = new SerialQueue();
  #waiting = 0;
  #unconfirmed_bytes = 0;

  /** Runs the reads of a call one after the other. All threads of a workspace in this isolate share the rate. */
  read<T extends LoadedCheckpoint | LoadedCheckpoint[] | null>(
    workspace_id: string,
    read: () => T,
  ): Promise<T> {
    if (this.#waiting >= MAX_WAITING_READS) {
      const text = `checkpoints: at most ${MAX_WAITING_READS} reads can be in progress: await some of them first.`;
      return Promise.reject(new AppError("rate_limited", text));
    }
    this.#waiting += 1;
    return this.#queue
      .run(async () => {
        await this.#confirmed();
        const { found, bytes } = await paced(workspace_id, read);
        this.#unconfirmed_bytes += bytes;
        return found;
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #confirmed(): Promise<void> {
    if (this.confirm === null || this.#unconfirmed_bytes <= MAX_UNCONFIRMED_BYTES) return;
    // The previous answer must be sent first.
    await scheduler.wait(0);
    await this.confirm();
    this.#unconfirmed_bytes = 0;
  }
}

async function paced<T extends LoadedCheckpoint | LoadedCheckpoint[] | null>(
  workspace_id: string,
  read: () => T,
): Promise<{ found: T; bytes: number }> {
  for (let wait = waitOf(workspace_id); wait > 0; wait = waitOf(workspace_id)) {
    await scheduler.wait(wait);
  }
  const found = read();
  const bytes = [found].flat().reduce((sum, one) => sum + bytesOf(one), 0);
  const start = Math.max(Date.now(), clearAt.get(workspace_id) ?? 0);
  clearAt.set(workspace_id, start + (bytes / READ_BYTES_PER_SECOND) * 1000);
  return { found, bytes };
}

function waitOf(workspace_id: string): number {
  const ahead = (clearAt.get(workspace_id) ?? 0) - Date.now();
  if (ahead <= 0) clearAt.delete(workspace_id);
  return Math.max(0, Math.ceil(ahead - READ_BURST_MS));
}

function bytesOf(loaded: LoadedCheckpoint | null): number {
  if (loaded === null) return 0;
  const parts = [...loaded.values, ...loaded.writes];
  return parts.reduce((sum, { data }) => sum + data.byteLength, 0);
}
