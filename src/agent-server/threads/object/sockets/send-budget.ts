const WINDOW_MS = 60_000;

/**
 * Limits the characters sent in each window of a minute. workerd buffers what a slow client does not read, and reports
 * neither the size of that buffer nor when it is empty.
 */
export class SendBudget {
  readonly #max: number;
  #endsAt = 0;
  #spent = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns `false` when the characters exceed the limit; they are not counted then */
  spend(characters: number): boolean {
    const now = Date.now();
    if (now >= this.#endsAt) [this.#endsAt, this.#spent] = [now + WINDOW_MS, 0];
    if (this.#spent + characters > this.#max) return false;
    this.#spent += characters;
    return true;
  }
}
