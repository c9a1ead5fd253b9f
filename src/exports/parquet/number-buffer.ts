/** What all rows of a row group need, and lists of a few items. */
const MAX_KEPT_NUMBERS = 32_768;

/** Small numbers of one column: levels, bits or places in a dictionary. */
export class NumberBuffer {
  #numbers = new Uint16Array(1024);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  push(number: number): void {
    if (this.#count === this.#numbers.length) {
      const numbers = new Uint16Array(2 * this.#count);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
    }
    this.#numbers[this.#count++] = number;
  }

  clear(): void {
    if (this.#numbers.length > MAX_KEPT_NUMBERS) this.#numbers = new Uint16Array(1024);
    this.#count = 0;
  }

  /** Parquet's hybrid of runs and packed bits: one run when all are the same, packed bits else. */
  hybrid(width: number): Uint8Array {
    const first = this.#numbers[0] ?? 0;
    let same = 1;
    while (same < this.#count && this.#numbers[same] === first) same++;
    if (same >= this.#count) return this.#run(first, width);
    const head = varint((Math.ceil(this.#count / 8) << 1) | 1);
    return join(head, this.packed(width));
  }

  /** Least bit first, filled up to a multiple of eight numbers. */
  packed(width: number): Uint8Array {
    const bytes = new Uint8Array(Math.ceil(this.#count / 8) * width);
    let [to, bits, used] = [0, 0, 0];
    for (let index = 0; index < this.#count; index++) {
      bits |= (this.#numbers[index] ?? 0) << used;
      used += width;
      for (; used >= 8; used -= 8) {
        bytes[to++] = bits;
        bits >>>= 8;
      }
    }
    if (used > 0) bytes[to] = bits;
    return bytes;
  }

  #run(number: number, width: number): Uint8Array {
    const value = width > 8 ? [number & 0xff, number >>> 8] : [number];
    return join(varint(this.#count << 1), Uint8Array.from(value));
  }
}

function varint(value: number): Uint8Array {
  const out: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) out.push((rest & 0x7f) | 0x80);
  return Uint8Array.from([...out, rest]);
}

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
