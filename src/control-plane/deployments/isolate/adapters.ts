import { type Artifact, CONTRACT } from "../../builds/contract.ts";

/**
 * Artifacts of earlier contracts run behind a module that translates their calls, so the rest of the Worker knows
 * the current contract only. The module belongs to the isolate: its output is parsed like the agent's own.
 */

/** Modules that extend the `Agent` of `main` to the next contract, by the contract of `main`. */
const ADAPTERS: Record<number, (main: string) => string> = { 1: addPaths };

const OLDEST_CONTRACT = Math.min(CONTRACT, ...Object.keys(ADAPTERS).map(Number));

/** Returns the name of an adapter's module. No other module of an artifact has such a name. */
const adapterName = (contract: number) => `heddle-contract-${contract}.js`;

/** Returns an artifact of the current contract. Replaces one that cannot run by a module that fails with the reason. */
export function toCurrentContract(artifact: Artifact): Artifact {
  const { contract = 1, modules } = artifact;
  const reason = contractProblem(artifact);
  if (reason !== null) {
    const main_module = adapterName(contract);
    return {
      ...artifact,
      contract: CONTRACT,
      main_module,
      modules: { [main_module]: refuse(reason) },
    };
  }
  const adapt = ADAPTERS[contract];
  if (contract === CONTRACT || adapt === undefined) return artifact;
  const main_module = adapterName(contract);
  const adapter = adapt(JSON.stringify(`./${artifact.main_module}`));
  return toCurrentContract({
    ...artifact,
    contract: contract + 1,
    main_module,
    modules: { ...modules, [main_module]: adapter },
  });
}

/** @returns `null` for a contract that runs here */
export function contractProblem({ contract = 1 }: Pick<Artifact, "contract">): string | null {
  if (contract >= OLDEST_CONTRACT && contract <= CONTRACT) return null;
  const range = `contract ${contract}; this Heddle runs ${OLDEST_CONTRACT} to ${CONTRACT}`;
  return contract > CONTRACT
    ? `This revision was built by a newer Heddle (${range}): upgrade Heddle, or create a new revision.`
    : `This revision was built by an older Heddle (${range}): create a new revision, which builds it again.`;
}

/** Adapts contract 1. In contract 2, each pending write has the path of its task. */
function addPaths(main: string): string {
  return `import { Agent as Earlier } from ${main};
const toWrite = (write) => ({ path: "", ...write });
const toOp = (op) => (op.op === "writes" ? { ...op, writes: op.writes.map(toWrite) } : op);
const toHost = (host) => ({
  commit: (ops) => host.commit(ops.map(toOp)),
  readCheckpoint: (ns, checkpoint_id) => host.readCheckpoint(ns, checkpoint_id),
  listCheckpoints: (query) => host.listCheckpoints(query),
  authenticate: (body) => host.authenticate(body),
  store: (ops) => host.store(ops),
  cancelled: () => host.cancelled(),
  dup: () => toHost(host.dup()),
  [Symbol.dispose]: () => host[Symbol.dispose](),
});
class Agent extends Earlier {
  async run(call, host) {
    const outcome = await super.run(call, toHost(host));
    return { ...outcome, ops: outcome.ops.map(toOp) };
  }
  updateState(call, host) {
    return super.updateState(call, toHost(host));
  }
}
export { Agent };
`;
}

function refuse(message: string): string {
  const error = { error: "UnsupportedContractError", message, stack: null };
  return `import { WorkerEntrypoint } from "cloudflare:workers";
const error = ${JSON.stringify(error)};
const refuse = async () => ({ ok: false, error });
const unavailable = async () => ({ ok: false, refusal: { status: 503, message: error.message, headers: [] } });
class Agent extends WorkerEntrypoint {
  fetch() { return new Response(error.message, { status: 503 }); }
  isTraced() { return false; }
  matchesPattern() { return false; }
  run() { return { ops: [], failure: error, is_timeout: false, summary: null, traces: null }; }
}
const answers = { describe: refuse, drawGraph: refuse, describeSchemas: refuse, describeSubgraphs: refuse, getState: refuse, getHistory: refuse, updateState: refuse, summarize: refuse, embed: refuse, authenticateRequest: unavailable, authorize: unavailable };
Object.assign(Agent.prototype, answers);
export { Agent };
`;
}
