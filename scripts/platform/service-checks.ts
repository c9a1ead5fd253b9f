import { readHealth } from "../deploy/health.ts";
import { assert, type Check, Skipped, type Target } from "./target.ts";

/** The cron runs each minute. */
const CRON_MS = 130_000;

export const SERVICE_CHECKS: Check[] = [
  { name: "cron", limit: "cron triggers arrive", run: checkCron },
  { name: "health", limit: "D1, R2", run: checkHealth },
  { name: "authentication", limit: "secrets of the Worker", run: checkAuthentication },
  { name: "jurisdiction", limit: "jurisdiction of objects", run: checkJurisdiction },
  { name: "metrics", limit: "isolates push without a request", run: checkMetrics },
  { name: "usage", limit: "objects add up all isolates", run: checkUsage },
];

async function checkCron(target: Target): Promise<string> {
  const age = await target.poll(
    "tick of the cron",
    async () => {
      const { health, problem } = await readHealth(target.settings.url);
      assert(health !== null, problem);
      return health.checks.find(({ name }) => name === "sweep_age")?.value ?? null;
    },
    CRON_MS,
  );
  assert(age <= CRON_MS / 1000, `its jobs ended ${age} s ago: check the cron triggers`);
  return `its jobs ended ${age} s ago`;
}

async function checkHealth({ settings }: Target): Promise<string> {
  const { health, problem } = await readHealth(settings.url);
  assert(health?.status === "ok", problem);
  const value = (name: string) => health.checks.find((check) => check.name === name)?.value;
  return `D1 answers in ${value("database_latency")} ms, R2 in ${value("storage_latency")} ms`;
}

async function checkAuthentication({ settings }: Target): Promise<string> {
  const url = new URL("/v2/deployments", settings.url);
  for (const headers of [{}, { "X-Api-Key": `${settings.key}0` }]) {
    const { status } = await fetch(url, { headers });
    assert(status === 401, `${url} answered ${status} without a valid key`);
  }
  return "requests without a valid key get a 401";
}

async function checkJurisdiction(target: Target): Promise<string> {
  const response = await target.fetch("GET", "/v1/me");
  const { region = null } = (await response.json()) as { region?: string | null };
  const data_center = response.headers.get("CF-Ray")?.split("-").at(-1) ?? "unknown";
  const wanted = target.settings.region;
  const verdict = `objects are pinned to ${region ?? "no jurisdiction"}; data center ${data_center}`;
  if (wanted === undefined) throw new Skipped(`${verdict}; --region compares it`);
  assert(region === wanted, `${verdict}; expected ${wanted}`);
  return verdict;
}

const STARTED = /^heddle_runs_started_total (\d+)/m;

/** A run is in the totals when its isolate has pushed them, which takes up to ten seconds. */
async function checkMetrics(target: Target): Promise<string> {
  const { url, operator_token } = target.settings;
  if (operator_token === undefined) throw new Skipped("give --operator-token");
  const headers = { Authorization: `Bearer ${operator_token}` };
  const read = async () => {
    const response = await fetch(`${url}/v1/metrics`, { headers });
    const text = await response.text();
    assert(response.ok, `/v1/metrics answered ${response.status}: ${text.slice(0, 300)}`);
    return Number(STARTED.exec(text)?.[1] ?? 0);
  };
  const before = await read();
  await target.probe("echo", { text: "counted" });
  const after = await target.poll("started run in the metrics", async () => {
    const started = await read();
    return started > before ? started : null;
  });
  return `runs that started went from ${before} to ${after}`;
}

async function checkUsage(target: Target): Promise<string> {
  await target.probe("echo", { text: "counted" });
  const day = await target.poll("run in the usage of today", async () => {
    const { days } = await target.json<{ days: { runs_created: number }[] }>("GET", "/v1/usage");
    const today = days.at(-1);
    return today && today.runs_created > 0 ? today : null;
  });
  return `today has ${day.runs_created} runs`;
}
