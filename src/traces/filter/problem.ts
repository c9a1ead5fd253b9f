/** Leaves the filter's reader only through `readFilter`, which turns it into an answer. */
export class FilterProblem extends Error {
  constructor(offset: number, text: string) {
    super(`At character ${offset + 1}: ${text}`);
    this.name = "FilterProblem";
  }
}
