const MAX_COUNTS = 1000;

/** Exact sum of decimals stored as text: plain digits, no exponent. */
export class DecimalSum {
  #total = 0n;
  #places = 0;
  #isEmpty = true;
  /** Number of occurrences of each text: runs often cost the same. */
  readonly #counts = new Map<string, number>();

  add(text: string | null): void {
    if (text === null) return;
    this.#isEmpty = false;
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
    if (this.#counts.size >= MAX_COUNTS) this.#settle();
  }

  /** @returns `null` when nothing was added */
  toText(): string | null {
    this.#settle();
    return this.#isEmpty ? null : toDecimalText(this.#total, this.#places);
  }

  #settle(): void {
    for (const [text, n] of this.#counts) this.#addTimes(text, n);
    this.#counts.clear();
  }

  #addTimes(text: string, n: number): void {
    const places = placesOf(text);
    if (places > this.#places) {
      this.#total *= 10n ** BigInt(places - this.#places);
      this.#places = places;
    }
    this.#total += scaled(text, this.#places) * BigInt(n);
  }
}

export function addDecimals(
  a: string | null | undefined,
  b: string | null | undefined,
): string | null {
  if (a == null || b == null) return a ?? b ?? null;
  const sum = new DecimalSum();
  sum.add(a);
  sum.add(b);
  return sum.toText();
}

function toDecimalText(total: bigint, places: number): string {
  if (places === 0) return String(total);
  const digits = String(total < 0n ? -total : total).padStart(places + 1, "0");
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, "");
  return total < 0n ? `-${text}` : text;
}

function placesOf(text: string): number {
  return text.split(".")[1]?.length ?? 0;
}

function scaled(text: string, places: number): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(places, "0"));
}
