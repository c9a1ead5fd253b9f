import { z } from "zod";

export type PlainLimits = { nodes: number; characters: number; depth: number };

/** Enough for a graph's JSON Schemas, an auth handler's value or a filter. */
export const PLAIN_LIMITS: PlainLimits = {
  nodes: 200_000,
  characters: 4 * 1024 * 1024,
  depth: 500,
};

/**
 * Schema that copies JSON data which arrived over RPC. Structured clone keeps shared references, so a small message
 * may expand to gigabytes of JSON: each visit of a shared value counts. Drops fields whose value JSON does not have, such
 * as `undefined` and objects of classes. In lists, such values become `null`. NaN and Infinity always become `null`.
 */
export function plainData(limits: PlainLimits = PLAIN_LIMITS) {
  return z.unknown().transform((value, ctx) => {
    const copy = new PlainCopy(limits);
    const plain = copy.of(value, 0);
    if (copy.problem === null) return plain;
    ctx.addIssue({ code: "custom", message: copy.problem });
    return z.NEVER;
  });
}

/** Schema that copies a JSON object which arrived over RPC. */
export function plainObject(limits: PlainLimits = PLAIN_LIMITS) {
  return plainData(limits).pipe(z.record(z.string(), z.unknown()));
}

class PlainCopy {
  problem: string | null = null;
  readonly #limits: PlainLimits;
  #nodes = 0;
  #characters = 0;

  constructor(limits: PlainLimits) {
    this.#limits = limits;
  }

  of(value: unknown, depth: number): unknown {
    if (!this.#admit(value, depth)) return undefined;
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : null;
    if (Array.isArray(value)) return this.#list(value, depth);
    return isPlainObject(value) ? this.#fields(value, depth) : undefined;
  }

  #list(values: unknown[], depth: number): unknown[] {
    const copies: unknown[] = [];
    for (const value of values) {
      if (this.problem !== null) break;
      copies.push(this.of(value, depth + 1) ?? null);
    }
    return copies;
  }

  #fields(value: object, depth: number): object {
    const entries: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(value)) {
      if (!this.#admit(key, depth)) break;
      const copy = this.of(inner, depth + 1);
      if (copy !== undefined) entries.push([key, copy]);
    }
    return Object.fromEntries(entries);
  }

  #admit(value: unknown, depth: number): boolean {
    const { nodes, characters } = this.#limits;
    this.#nodes += 1;
    if (typeof value === "string") this.#characters += value.length;
    if (depth > this.#limits.depth) this.problem = `nests more than ${this.#limits.depth} levels`;
    if (this.#nodes > nodes) this.problem = `has more than ${nodes} values`;
    if (this.#characters > characters) this.problem = `has more than ${characters} characters`;
    return this.problem === null;
  }
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
