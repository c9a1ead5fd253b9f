// Shows that a tenant is served while another one works.
import { expect } from "vitest";
import { request } from "./http.ts";

/** The tenant that must not be harmed: a deployment whose assistant `assistant_id` answers at once. */
export type Bystander = {
  deployment_id: string;
  assistant_id: string;
  headers: Record<string, string>;
};

/**
 * Uses the service as the bystander until `isDone`. Fails unless each call is answered.
 * @returns rounds of calls that were served before
 */
export async function servedUntil(
  bystander: Bystander,
  isDone: () => boolean | Promise<boolean>,
): Promise<number> {
  for (let served = 0; ; served++) {
    await callOnce(bystander);
    if (await isDone()) return served;
  }
}

async function callOnce({ deployment_id, assistant_id, headers }: Bystander): Promise<void> {
  const run = { assistant_id, input: {} };
  const agent = `/agents/${deployment_id}`;
  const answers = [
    await request("GET", "/v2/deployments", undefined, headers),
    await request("POST", `${agent}/runs/wait`, run, headers),
    await request("POST", `${agent}/runs/stream`, run, headers),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
}
