import { PART_BYTES, PARTS_IN_FLIGHT } from "../limits.ts";
import type { S3Client } from "../s3/client.ts";

type Part = { number: number; etag: string };

/** Uploads a stream: one PUT when it fits a part, else a multipart upload. */
export class FileUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #onOpened: (upload_id: string) => Promise<void>;
  #part = new Uint8Array(0);
  /** Buffers of uploaded parts for reuse. */
  readonly #spare: Uint8Array<ArrayBuffer>[] = [];
  #filled = 0;
  #bytes = 0;
  #uploadId: string | null = null;
  #number = 0;
  readonly #parts: Part[] = [];
  readonly #flying = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  /** `onOpened` runs before the first part is sent. */
  constructor(client: S3Client, key: string, onOpened: (upload_id: string) => Promise<void>) {
    this.#client = client;
    this.#key = key;
    this.#onOpened = onOpened;
  }

  /** Waits for free slots. R2 requires equal parts, except the last. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.byteLength;
    for (let at = 0; at < bytes.byteLength; ) {
      if (this.#part.byteLength === 0) this.#part = this.#spare.pop() ?? new Uint8Array(PART_BYTES);
      const piece = bytes.subarray(at, at + PART_BYTES - this.#filled);
      this.#part.set(piece, this.#filled);
      this.#filled += piece.byteLength;
      at += piece.byteLength;
      if (this.#filled === PART_BYTES) await this.#sendPart();
    }
  }

  async finish(): Promise<{ etag: string | null }> {
    const rest = this.#part.subarray(0, this.#filled);
    if (this.#uploadId === null) return this.#client.putObject(this.#key, rest);
    if (this.#filled > 0) await this.#sendPart();
    await Promise.all(this.#flying);
    this.#throwFailure();
    const parts = this.#parts.sort((a, b) => a.number - b.number);
    return this.#client.completeUpload(this.#key, this.#uploadId, parts, { bytes: this.#bytes });
  }

  /** Aborts the upload; the clean-up repeats a failed abort. */
  async abort(): Promise<void> {
    await Promise.allSettled(this.#flying);
    if (this.#uploadId === null) return;
    await this.#client.abortUpload(this.#key, this.#uploadId).catch(() => undefined);
  }

  async #sendPart(): Promise<void> {
    const body = this.#part.subarray(0, this.#filled);
    [this.#part, this.#filled] = [new Uint8Array(0), 0];
    const upload_id = this.#uploadId ?? (await this.#open());
    while (this.#flying.size >= PARTS_IN_FLIGHT) await Promise.race(this.#flying);
    this.#throwFailure();
    this.#number += 1;
    const flight = this.#fly(upload_id, this.#number, body);
    this.#flying.add(flight);
    void flight.finally(() => this.#flying.delete(flight));
  }

  async #fly(upload_id: string, number: number, body: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      const { etag } = await this.#client.uploadPart(this.#key, upload_id, number, body);
      this.#parts.push({ number, etag });
      if (body.byteLength === PART_BYTES) this.#spare.push(body);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  async #open(): Promise<string> {
    const { upload_id } = await this.#client.createUpload(this.#key);
    this.#uploadId = upload_id;
    await this.#onOpened(upload_id);
    return upload_id;
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}
