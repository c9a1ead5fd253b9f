// Measures what a tenant gets while another one works. Times are compared with those beside processes that only
// compute, so a busy machine changes both.
import { expect } from "vitest";
import { startBurners } from "../../../scripts/soak/strangers/burners.ts";
import { medianOf } from "../../../scripts/soak/strangers/median.ts";
import { request } from "./http.ts";

type Call = { what: string; status: number; ms: number };

/** The tenant that must not be harmed: a deployment whose assistant `assistant_id` answers at once. */
export type Bystander = {
  deployment_id: string;
  assistant_id: string;
  headers: Record<string, string>;
};

const ROUNDS_BESIDE_BURNERS = 10;
const LEAST_ROUNDS = 2;
/** A neighbour may cost a few times of what computing costs: it also reads and writes. */
const FACTOR = 6;

/** Uses the service as the bystander until `isDone`. */
export async function callUntil(
  bystander: Bystander,
  isDone: () => Promise<boolean>,
): Promise<Call[]> {
  const seen: Call[] = [];
  for (let round = 0; round < LEAST_ROUNDS || !(await isDone()); round++) {
    seen.push(...(await callOnce(bystander)));
  }
  return seen;
}

async function callOnce({ deployment_id, assistant_id, headers }: Bystander): Promise<Call[]> {
  const run = { assistant_id, input: {} };
  const agent = `/agents/${deployment_id}`;
  const calls: [string, () => Promise<{ status: number }>][] = [
    ["control plane", () => request("GET", "/v2/deployments", undefined, headers)],
    ["wait", () => request("POST", `${agent}/runs/wait`, run, headers)],
    ["stream", () => request("POST", `${agent}/runs/stream`, run, headers)],
  ];
  const seen: Call[] = [];
  for (const [what, call] of calls) {
    const started = performance.now();
    const { status } = await call();
    seen.push({ what, status, ms: performance.now() - started });
  }
  return seen;
}

/** Uses the service while as many processes as processors compute. Returns the median time of a call. */
export async function medianBesideBurners(bystander: Bystander): Promise<number> {
  const stopBurners = startBurners();
  let rounds = 0;
  try {
    await callOnce(bystander);
    return medianMs(await callUntil(bystander, async () => ++rounds >= ROUNDS_BESIDE_BURNERS));
  } finally {
    stopBurners();
  }
}

/** Each call was answered, and not later than calls beside processes that only compute, by a factor. */
export function assertUnharmed(seen: readonly Call[], beside_burners: number): void {
  expect(seen.filter(({ status }) => status !== 200)).toEqual([]);
  expect(medianMs(seen) / beside_burners).toBeLessThan(FACTOR);
}

function medianMs(calls: readonly Call[]): number {
  return medianOf(calls.map(({ ms }) => ms));
}
