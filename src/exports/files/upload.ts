import { PART_BYTES, PARTS_IN_FLIGHT } from "../limits.ts";
import type { S3Client } from "../s3/client.ts";
import type { BodyDigests } from "../s3/signing.ts";

type Part = { number: number; etag: string };
/** Receives a copy of each part. Never throws. The digests are complete only at the end of the upload. */
export type Mirror = {
  write(number: number, body: Uint8Array, digests: BodyDigests): Promise<void>;
};

/** Uploads a stream: by one PUT when it is smaller than a part, else by a multipart upload. */
export class FileUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #onOpened: (upload_id: string) => Promise<void>;
  readonly #mirror: Mirror | null;
  /** Digests of the parts. The copy of a sealed file sets them before the upload. Signing adds those that it computes. */
  readonly digests: BodyDigests[] = [];
  #part = new Uint8Array(0);
  /** Buffers of uploaded parts for reuse. */
  readonly #spare: Uint8Array<ArrayBuffer>[] = [];
  #filled = 0;
  #bytes = 0;
  #uploadId: string | null = null;
  #number = 0;
  readonly #parts: Part[] = [];
  readonly #inFlight = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  /** `onOpened` runs before the first part is sent. */
  constructor(
    client: S3Client,
    key: string,
    onOpened: (upload_id: string) => Promise<void>,
    mirror: Mirror | null = null,
  ) {
    this.#client = client;
    this.#key = key;
    this.#onOpened = onOpened;
    this.#mirror = mirror;
  }

  /** Sends each full part, and waits while PARTS_IN_FLIGHT are being sent. R2 requires equal parts, except the last. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.byteLength;
    for (let at = 0; at < bytes.byteLength; ) {
      this.#makeRoom(Math.min(PART_BYTES, this.#filled + bytes.byteLength - at));
      const piece = bytes.subarray(at, at + PART_BYTES - this.#filled);
      this.#part.set(piece, this.#filled);
      this.#filled += piece.byteLength;
      at += piece.byteLength;
      if (this.#filled === PART_BYTES) await this.#sendPart();
    }
  }

  async finish(): Promise<{ etag: string | null }> {
    const rest = this.#part.subarray(0, this.#filled);
    if (this.#uploadId === null) {
      const digests = this.#digestsOf(1);
      const [object] = await Promise.all([
        this.#client.putObject(this.#key, rest, undefined, digests),
        this.#mirror?.write(1, rest, digests),
      ]);
      return object;
    }
    if (this.#filled > 0) await this.#sendPart();
    await Promise.all(this.#inFlight);
    this.#throwFailure();
    const parts = this.#parts.sort((a, b) => a.number - b.number);
    return this.#client.completeUpload(this.#key, this.#uploadId, parts, { bytes: this.#bytes });
  }

  /** Aborts the upload; the clean-up repeats a failed abort. */
  async abort(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    if (this.#uploadId === null) return;
    await this.#client.abortUpload(this.#key, this.#uploadId).catch(() => undefined);
  }

  /** Grows the buffer of the first part with the file: most files are smaller than a part. */
  #makeRoom(bytes: number): void {
    const { byteLength } = this.#part;
    if (byteLength >= bytes) return;
    if (this.#number > 0) {
      this.#part = this.#spare.pop() ?? new Uint8Array(PART_BYTES);
      return;
    }
    const grown = new Uint8Array(Math.min(PART_BYTES, Math.max(bytes, 2 * byteLength)));
    grown.set(this.#part.subarray(0, this.#filled));
    this.#part = grown;
  }

  async #sendPart(): Promise<void> {
    const body = this.#part.subarray(0, this.#filled);
    [this.#part, this.#filled] = [new Uint8Array(0), 0];
    const upload_id = this.#uploadId ?? (await this.#open());
    while (this.#inFlight.size >= PARTS_IN_FLIGHT) await Promise.race(this.#inFlight);
    this.#throwFailure();
    this.#number += 1;
    const upload = this.#uploadPart(upload_id, this.#number, body);
    this.#inFlight.add(upload);
    void upload.finally(() => this.#inFlight.delete(upload));
  }

  async #uploadPart(
    upload_id: string,
    number: number,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    try {
      const digests = this.#digestsOf(number);
      const [{ etag }] = await Promise.all([
        this.#client.uploadPart(this.#key, upload_id, number, body, digests),
        this.#mirror?.write(number, body, digests),
      ]);
      this.#parts.push({ number, etag });
      if (body.byteLength === PART_BYTES) this.#spare.push(body);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #digestsOf(number: number): BodyDigests {
    const digests = this.digests[number - 1] ?? {};
    this.digests[number - 1] = digests;
    return digests;
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
