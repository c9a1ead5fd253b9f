/**
 * A message of RPC holds 32 MiB, at up to two bytes a character. The last row may exceed this limit, for which half of
 * the message is left.
 */
const MESSAGE_CHARS = 8_000_000;

/** Rows of one message. */
export class MessageRows<Row extends object> {
  readonly rows: Row[] = [];
  #chars = 0;

  add(row: Row): void {
    this.rows.push(row);
    for (const value of Object.values(row)) {
      this.#chars += typeof value === "string" ? value.length : 0;
    }
  }

  get isFull(): boolean {
    return this.#chars > MESSAGE_CHARS;
  }
}
