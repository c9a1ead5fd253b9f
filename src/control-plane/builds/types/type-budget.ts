/**
 * Limits of one build for reading types. Types only describe an agent, so a type over a limit becomes `{}`
 * and the build continues.
 */
export const TYPE_LIMITS = {
  /** Characters of TypeScript that are tokenized. */
  source: 1024 * 1024,
  /** Tokens held in memory: each is an object. */
  tokens: 250_000,
  /** Schema nodes of one type, and of all types together. Each use of a name counts all that it expands to. */
  nodes_per_type: 2000,
  nodes: 10_000,
  /** Characters of property names and literals in the schemas. */
  text: 128 * 1024,
  /** Levels of nested types. */
  depth: 12,
  /** `new StateGraph(` calls of one file that are searched for a context. */
  graphs_per_file: 32,
};

type LimitName = "source" | "tokens" | "nodes" | "text";

/** Counts what a build spends on types, over all files. */
export class TypeBudget {
  readonly #left: Record<LimitName, number> = { ...TYPE_LIMITS };
  #isExceeded = false;

  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  left(limit: LimitName): number {
    return this.#left[limit];
  }

  /** Returns `false` when the limit is exceeded. Spends the amount in either case. */
  spend(limit: LimitName, amount: number): boolean {
    this.#left[limit] -= amount;
    return this.#left[limit] >= 0 || this.exceed();
  }

  exceed(): false {
    this.#isExceeded = true;
    return false;
  }
}
