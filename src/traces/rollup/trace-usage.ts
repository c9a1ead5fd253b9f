import { DecimalSum } from "../decimals.ts";
import type { RunView } from "../rows/run-view.ts";
import { COSTS, TOKENS } from "../totals.ts";
import type { Usage } from "../usage.ts";

export type UsageRun = Pick<RunView, "dotted_order" | "run_type" | keyof Usage>;

/** Place in the tree of a trace, with the runs that have its dotted order. */
type TraceNode = {
  runs: UsageRun[];
  parent: TraceNode | null;
  hasModelBelow: boolean;
  below: UsageSum;
};

/** Up to this number of runs with usage, they are compared with each other. For more, a tree is built. */
const MAX_COMPARED = 16;

/** Computes the usage of runs of one trace, each with the runs below it. The list may omit runs without usage. */
export class TraceUsage {
  readonly #used: UsageRun[];
  #nodes: Map<string, TraceNode> | null = null;

  constructor(runs: readonly UsageRun[]) {
    this.#used = runs.filter(hasUsage);
  }

  /** Returns the tokens and the costs of a run. Those that it lacks are the sums of the runs below it. */
  of(run: UsageRun): Usage {
    return this.summed(run) ?? ownUsage(run);
  }

  /**
   * Sums the usage below a run. The run's own tokens replace the tokens of the sum, and its own costs replace the costs.
   * @returns `null` when the run has both, or no run below it. The sum may add nothing
   */
  summed(run: UsageRun): Usage | null {
    if (run.dotted_order === null || hasTokensAndCosts(run)) return null;
    const below = this.#below(run.dotted_order);
    return below === null ? null : replaceMissing(run, below);
  }

  /** @returns the sum of the runs below, `null` when there are none */
  #below(dotted_order: string): Usage | null {
    if (this.#used.length > MAX_COMPARED) {
      this.#nodes ??= toSums(this.#used);
      return this.#nodes.get(dotted_order)?.below.toUsage() ?? null;
    }
    const below = runsBelow(this.#used, dotted_order);
    return below.length === 0 ? null : sumOf(below);
  }

  /**
   * Yields the runs whose usage counts: model calls, runs without a model call below them, and runs without a dotted
   * order. Any other run may repeat the usage of the calls below it.
   */
  *counted(): Generator<UsageRun> {
    this.#nodes ??= toSums(this.#used);
    for (const node of this.#nodes.values()) yield* countedRuns(node);
    yield* this.#used.filter(({ dotted_order }) => dotted_order === null);
  }
}

/** Returns the usage of a run that has at least one run with usage below it. */
export function withBelow(run: UsageRun, below: UsageRun[]): Usage {
  return replaceMissing(run, sumOf(below));
}

function replaceMissing(run: UsageRun, below: Usage): Usage {
  return {
    ...ownUsage(hasOwn(run, TOKENS) ? run : below),
    ...costsOf(hasOwn(run, COSTS) ? run : below),
  };
}

function runsBelow(runs: readonly UsageRun[], order: string): UsageRun[] {
  const above = `${order}.`;
  return runs.filter(({ dotted_order }) => dotted_order?.startsWith(above));
}

/** Sums runs. @param runs must have, for each of its runs, all runs with usage below it too */
function sumOf(runs: UsageRun[]): Usage {
  const calls = runs.filter(isModel);
  const sum = new UsageSum();
  for (const run of runs) {
    if (isModel(run) || runsBelow(calls, run.dotted_order ?? "").length === 0) sum.add(run);
  }
  return sum.toUsage();
}

function toSums(used: readonly UsageRun[]): Map<string, TraceNode> {
  const nodes = toNodes(used);
  // A node below another one has a longer dotted order.
  for (const [, node] of [...nodes].sort(([a], [b]) => b.length - a.length)) sumUp(node);
  return nodes;
}

/** Makes a node for each run, and for each run that its dotted order names above it. */
function toNodes(runs: readonly UsageRun[]): Map<string, TraceNode> {
  const nodes = new Map<string, TraceNode>();
  for (const run of runs) {
    if (run.dotted_order !== null) addNode(nodes, run.dotted_order).runs.push(run);
  }
  return nodes;
}

function addNode(nodes: Map<string, TraceNode>, dotted_order: string): TraceNode {
  const missing: string[] = [];
  let order = dotted_order;
  while (order !== "" && !nodes.has(order)) {
    missing.push(order);
    order = order.slice(0, Math.max(0, order.lastIndexOf(".")));
  }
  let above = nodes.get(order) ?? null;
  for (const name of missing.reverse()) {
    const node = { runs: [], parent: above, hasModelBelow: false, below: new UsageSum() };
    nodes.set(name, node);
    above = node;
  }
  // An empty dotted order is in no tree.
  return above ?? { runs: [], parent: null, hasModelBelow: false, below: new UsageSum() };
}

/** Adds the sums of a node to the node above it. The nodes below must have been added before. */
function sumUp(node: TraceNode): void {
  const { parent, runs, below, hasModelBelow } = node;
  if (parent === null) return;
  parent.below.merge(below);
  for (const run of countedRuns(node)) parent.below.add(run);
  parent.hasModelBelow ||= hasModelBelow || runs.some(isModel);
}

function countedRuns({ runs, hasModelBelow }: TraceNode): UsageRun[] {
  return runs.filter((run) => isModel(run) || !hasModelBelow);
}

function isModel({ run_type }: UsageRun): boolean {
  return run_type === "llm";
}

export function hasUsage({ total_tokens, total_cost }: Usage): boolean {
  return total_tokens !== null || total_cost !== null;
}

export function hasTokensAndCosts(usage: Usage): boolean {
  return hasOwn(usage, TOKENS) && hasOwn(usage, COSTS);
}

function hasOwn(usage: Usage, names: readonly (keyof Usage)[]): boolean {
  return names.some((name) => usage[name] !== null);
}

export function ownUsage(run: Usage): Usage {
  const { total_tokens, prompt_tokens, completion_tokens } = run;
  return { total_tokens, prompt_tokens, completion_tokens, ...costsOf(run) };
}

function costsOf({ total_cost, prompt_cost, completion_cost }: Usage) {
  return { total_cost, prompt_cost, completion_cost };
}

class UsageSum {
  readonly #tokens = TOKENS.map((): number | null => null);
  readonly #costs = COSTS.map(() => new DecimalSum());

  add(usage: Usage): void {
    for (const [at, name] of TOKENS.entries()) {
      const value = usage[name];
      if (value !== null) this.#tokens[at] = (this.#tokens[at] ?? 0) + value;
    }
    for (const [at, name] of COSTS.entries()) this.#costs[at]?.add(usage[name]);
  }

  merge(other: UsageSum): void {
    this.add(other.#sums());
  }

  /** Returns `null` for a number of tokens that a double cannot hold exactly. */
  toUsage(): Usage {
    const sums = this.#sums();
    for (const name of TOKENS) {
      if ((sums[name] ?? 0) > Number.MAX_SAFE_INTEGER) sums[name] = null;
    }
    return sums;
  }

  #sums(): Usage {
    const [total_tokens = null, prompt_tokens = null, completion_tokens = null] = this.#tokens;
    const [total_cost = null, prompt_cost = null, completion_cost = null] = this.#costs.map((sum) =>
      sum.toText(),
    );
    return {
      ...{ total_tokens, prompt_tokens, completion_tokens },
      ...{ total_cost, prompt_cost, completion_cost },
    };
  }
}
