import { ByteWriter } from "hyparquet-writer";

/** Bytes up to this size are copied. Larger ones, which are compressed pages, are kept by reference. */
const COPIED_BYTES = 4096;

/** Collects the bytes of a file as a list of arrays, without a copy of large pages. */
export class PartWriter extends ByteWriter {
  #parts: Uint8Array[] = [];

  /** Takes large `bytes` over: the caller must not change them afterwards. */
  override appendBytes(bytes: Uint8Array): void {
    if (bytes.length <= COPIED_BYTES) {
      super.appendBytes(bytes);
      return;
    }
    this.#cut();
    this.#parts.push(bytes);
    this.offset += bytes.length;
  }

  /** Removes and returns the bytes since the last call. */
  take(): Uint8Array[] {
    this.#cut();
    return this.#parts.splice(0);
  }

  #cut(): void {
    if (this.index > 0) this.#parts.push(this.getBytes().slice());
    this.index = 0;
  }
}
