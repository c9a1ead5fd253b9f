import { log } from "../../shared/log.ts";
import { newId } from "../../shared/storage/ids.ts";
import { withTimeout } from "../../shared/work/timeout.ts";
import type { PartitionKey } from "../changes.ts";
import { type PartitionCalls, tracePartition } from "../object/stub.ts";
import {
  type PartDigests,
  type SealedContents,
  type SealedRange,
  tracePrefix,
} from "../storage/sealed-files.ts";

/** Longer than a file takes. The partition deletes an upload that is open for longer. */
const LEASE_MS = 15 * 60_000;
/** Maximum time that an export waits for one write to R2. */
const CALL_MS = 60_000;

/**
 * Writes an export's file to R2 too. Never throws: without the file the next export encodes the
 * rows again.
 */
export class SealWriter {
  readonly #id: string;
  readonly #object: PartitionCalls;
  readonly #upload: R2MultipartUpload;
  readonly #parts: R2UploadedPart[] = [];
  readonly #digests: PartDigests[] = [];
  #isOpen = true;

  private constructor(id: string, object: PartitionCalls, upload: R2MultipartUpload) {
    this.#id = id;
    this.#object = object;
    this.#upload = upload;
  }

  /** @returns `null` when the partition refuses the attempt */
  static async open(
    env: Env,
    partition: PartitionKey,
    range: SealedRange,
    owner: string,
  ): Promise<SealWriter | null> {
    const { project_id, day, slot } = partition;
    const id = newId();
    const key = `${tracePrefix(project_id)}${day}/${slot}/${id}.parquet`;
    const object = tracePartition(env, partition);
    try {
      const upload = await env.ARTIFACTS.createMultipartUpload(key);
      const lease_until = Date.now() + LEASE_MS;
      const attempt = { id, owner, key, upload_id: upload.uploadId, lease_until };
      if (await object.beginSeal(partition, range, attempt)) {
        return new SealWriter(id, object, upload);
      }
      await upload.abort();
    } catch (error) {
      log.error("seal_failed", error, { key });
    }
    return null;
  }

  async write(number: number, body: Uint8Array, digests: PartDigests): Promise<void> {
    this.#digests[number - 1] = digests;
    await this.#attempt(async () => {
      this.#parts.push(await this.#upload.uploadPart(number, body));
    });
  }

  async finish(contents: Omit<SealedContents, "digests">): Promise<void> {
    await this.#attempt(async () => {
      await this.#upload.complete(this.#parts.sort((a, b) => a.partNumber - b.partNumber));
      await this.#object.commitSeal(this.#id, { ...contents, digests: this.#digests });
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    if (!this.#isOpen) return;
    try {
      await withTimeout(work(), CALL_MS, () => {
        throw new Error(`R2 took longer than ${CALL_MS} ms`);
      });
    } catch (error) {
      this.#isOpen = false;
      log.error("seal_failed", error, { key: this.#upload.key });
    }
  }
}
