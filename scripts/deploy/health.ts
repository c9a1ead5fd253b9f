import { setTimeout as sleep } from "node:timers/promises";
import type { Health } from "../../src/control-plane/health/health-schema.ts";
import type { Account } from "./account.ts";
import { DeployError } from "./problems.ts";
import type { Target } from "./target.ts";

const POLL_MS = 3000;
/** The cron runs each minute, and the first certificate of a host name takes minutes. */
const GIVE_UP_MS = 300_000;

export function originOf(target: Target, account: Account): string {
  if (target.base_url !== "") return target.base_url;
  const [domain] = target.custom_domains;
  if (domain !== undefined) return `https://${domain}`;
  if (account.subdomain !== null) {
    return `https://${target.worker}.${account.subdomain}.workers.dev`;
  }
  throw new DeployError(
    `${target.worker} has no host name: add routes to env.${target.env} of wrangler.toml, or give --url.`,
  );
}

/** Waits until the health is `ok`. @throws DeployError after `GIVE_UP_MS` */
export async function awaitHealth(origin: string): Promise<Health> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const { health, problem } = await readHealth(origin);
    if (health?.status === "ok") return health;
    if (Date.now() > deadline) throw new DeployError(`${origin}/v1/health: ${problem}`);
    await sleep(POLL_MS);
  }
}

export async function readHealth(
  origin: string,
): Promise<{ health: Health | null; problem: string }> {
  try {
    const response = await fetch(`${origin}/v1/health`);
    const text = await response.text();
    const health = parseHealth(text);
    if (health === null) return { health, problem: `${response.status} ${text.slice(0, 200)}` };
    const failed = health.checks.filter(({ status }) => status !== "ok");
    const lines = failed.map(({ name, value, remedy }) => `${name} is ${value}. ${remedy ?? ""}`);
    return { health, problem: lines.join("\n") };
  } catch (error) {
    return { health: null, problem: `no answer (${(error as Error).cause ?? error})` };
  }
}

function parseHealth(text: string): Health | null {
  try {
    const value = JSON.parse(text) as Health;
    return Array.isArray(value.checks) ? value : null;
  } catch {
    return null;
  }
}
