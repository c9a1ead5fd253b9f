/** Length up to which a double holds all digits of a text. */
const SMALL_CHARS = 15;
const POWERS = Array.from({ length: SMALL_CHARS + 1 }, (_, n) => 10 ** n);
const [MINUS, POINT] = ["-".charCodeAt(0), ".".charCodeAt(0)];
const ZERO = "0".charCodeAt(0);

/** Exact sum of decimals that are texts: digits with an optional minus and point, and no exponent. */
export class DecimalSum {
  /** Sum of short texts, multiplied by 10 to the power of `#places`, while a double holds it exactly. */
  #small = 0;
  #places = 0;
  /** Rest of the sum, multiplied by 10 to the power of `#largePlaces`. */
  #large = 0n;
  #largePlaces = 0;
  #isEmpty = true;

  add(text: string | null): void {
    if (text === null) return;
    this.#isEmpty = false;
    if (text.length <= SMALL_CHARS && this.#addSmall(text)) return;
    this.#moveSmallToLarge();
    this.#addLarge(text);
  }

  /** @returns `null` when nothing was added */
  toText(): string | null {
    if (this.#isEmpty) return null;
    if (this.#large === 0n) return toDecimalText(this.#small, this.#places);
    this.#moveSmallToLarge();
    return toDecimalText(this.#large, this.#largePlaces);
  }

  /** @returns false, and adds nothing, when a double may not hold the sum exactly */
  #addSmall(text: string): boolean {
    const point = text.indexOf(".");
    const places = point === -1 ? 0 : text.length - point - 1;
    const common = Math.max(places, this.#places);
    const added = digitsOf(text) * (POWERS[common - places] ?? Number.NaN);
    const before = this.#small * (POWERS[common - this.#places] ?? Number.NaN);
    const sum = before + added;
    if (!isExact(added) || !isExact(before) || !isExact(sum)) return false;
    this.#small = sum;
    this.#places = common;
    return true;
  }

  #moveSmallToLarge(): void {
    if (this.#small !== 0) this.#addLarge(toDecimalText(this.#small, this.#places));
    this.#small = 0;
    this.#places = 0;
  }

  #addLarge(text: string): void {
    const places = placesOf(text);
    if (places > this.#largePlaces) {
      this.#large *= 10n ** BigInt(places - this.#largePlaces);
      this.#largePlaces = places;
    }
    this.#large += scaled(text, this.#largePlaces);
  }
}

const isExact = Number.isSafeInteger;

/** Returns a decimal without its point as a number: -15 for `-1.5`. */
function digitsOf(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== POINT && code !== MINUS) value = 10 * value + code - ZERO;
  }
  return text.charCodeAt(0) === MINUS ? -value : value;
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

function toDecimalText(total: bigint | number, places: number): string {
  if (places === 0) return String(total);
  const digits = String(total < 0 ? -total : total).padStart(places + 1, "0");
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, "");
  return total < 0 ? `-${text}` : text;
}

function placesOf(text: string): number {
  return text.split(".")[1]?.length ?? 0;
}

function scaled(text: string, places: number): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(places, "0"));
}
